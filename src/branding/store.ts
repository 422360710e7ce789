import { type Db, raw, sql, type Tx } from '../db/sql.ts'
import { assert } from '../lib/assert.ts'

export type BrandingRow = {
  color: string | null
  logo: Buffer | null
  shop_url: string | null
  embed_origins: string[]
  shows_items: boolean
}

export async function findBranding(db: Db | Tx, merchantId: string): Promise<BrandingRow | null> {
  const [row] = await db.query<BrandingRow>(sql`
    select color, logo, shop_url, embed_origins, shows_items from brandings where merchant_id = ${merchantId}`)
  return row ?? null
}

/** Returns what is stored. Without a `logo`, the current one stays. */
export async function saveBranding(
  tx: Tx,
  merchantId: string,
  branding: Omit<BrandingRow, 'logo'> & { logo: Buffer | null | undefined },
  now: Date,
): Promise<BrandingRow> {
  const { color, logo, shop_url, embed_origins, shows_items } = branding
  const [row] = await tx.query<BrandingRow>(sql`
    insert into brandings (merchant_id, color, logo, shop_url, embed_origins, shows_items, changed_at)
    values (${merchantId}, ${color}, ${logo ?? null}, ${shop_url}, ${embed_origins}, ${shows_items}, ${now})
    on conflict (merchant_id) do update set
      color = excluded.color, logo = ${raw(logo === undefined ? 'brandings.logo' : 'excluded.logo')}, shop_url = excluded.shop_url,
      embed_origins = excluded.embed_origins, shows_items = excluded.shows_items, changed_at = excluded.changed_at
    returning color, logo, shop_url, embed_origins, shows_items`)
  assert(row, 'a saved branding is returned')
  return row
}

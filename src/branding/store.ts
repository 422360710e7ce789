import { type Db, raw, sql, type Tx } from '../db/sql.ts'

export type BrandingRow = {
  color: string | null
  logo: Buffer | null
  shop_url: string | null
  embed_origins: string[]
  shows_items: boolean
  changed_at: Date | null
}

export async function findBranding(db: Db | Tx, merchantId: string): Promise<BrandingRow | null> {
  const [row] = await db.query<BrandingRow>(sql`
    select color, logo, shop_url, embed_origins, shows_items, changed_at from brandings where merchant_id = ${merchantId}`)
  return row ?? null
}

/**
 * Returns what is stored; null if somebody else has changed the branding since `changed_at`. If `logo` is undefined the
 * current one stays; null removes it.
 */
export async function saveBranding(
  tx: Tx,
  merchantId: string,
  branding: Omit<BrandingRow, 'logo'> & { logo: Buffer | null | undefined },
  now: Date,
): Promise<BrandingRow | null> {
  const { color, logo, shop_url, embed_origins, shows_items, changed_at } = branding
  const [row] = await tx.query<BrandingRow>(sql`
    insert into brandings (merchant_id, color, logo, shop_url, embed_origins, shows_items, changed_at)
    values (${merchantId}, ${color}, ${logo ?? null}, ${shop_url}, ${embed_origins}, ${shows_items}, ${now})
    on conflict (merchant_id) do update set
      color = excluded.color, logo = ${raw(logo === undefined ? 'brandings.logo' : 'excluded.logo')}, shop_url = excluded.shop_url,
      embed_origins = excluded.embed_origins, shows_items = excluded.shows_items, changed_at = excluded.changed_at
      where brandings.changed_at = ${changed_at}
    returning color, logo, shop_url, embed_origins, shows_items, changed_at`)
  return row ?? null
}

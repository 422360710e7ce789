import { type Db, sql, type Tx } from '../db/sql.ts'

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

export async function saveBranding(tx: Tx, merchantId: string, branding: BrandingRow, now: Date): Promise<void> {
  const { color, logo, shop_url, embed_origins, shows_items } = branding
  await tx.query(sql`
    insert into brandings (merchant_id, color, logo, shop_url, embed_origins, shows_items, changed_at)
    values (${merchantId}, ${color}, ${logo}, ${shop_url}, ${embed_origins}, ${shows_items}, ${now})
    on conflict (merchant_id) do update set
      color = excluded.color, logo = excluded.logo, shop_url = excluded.shop_url, embed_origins = excluded.embed_origins,
      shows_items = excluded.shows_items, changed_at = excluded.changed_at`)
}

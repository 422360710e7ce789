import { type By, recordAction } from '../audit/record.ts'
import type { Db } from '../db/sql.ts'
import { toDate } from '../http/formats.ts'
import { isHost } from '../lib/addresses.ts'
import type { Clock } from '../lib/clock.ts'
import { invalidFields, refusal } from '../lib/errors.ts'
import { toShades } from './colors.ts'
import { cleanPng, logoBytesMax } from './png.ts'
import type { BrandingInput, BrandingView } from './schema.ts'
import { type BrandingRow, findBranding, saveBranding } from './store.ts'

type Deps = { db: Db; clock: Clock }

const none: BrandingRow = {
  ...{ color: null, logo: null, shop_url: null, embed_origins: [], shows_items: false, changed_at: null },
}

export async function showBranding({ db }: Pick<Deps, 'db'>, merchantId: string): Promise<BrandingView> {
  return toView((await findBranding(db, merchantId)) ?? none)
}

/**
 * Replaces how a merchant's payment page looks.
 *
 * @throws {AppError} `validation_failed` with every field that cannot be used; `change_not_possible` if somebody has
 *   changed it since it was read
 */
export async function changeBranding(
  { db, clock }: Deps,
  { merchantId, input, by }: { merchantId: string; input: BrandingInput; by: By },
): Promise<BrandingView> {
  const checked = check(input)
  const now = clock.now()
  return await db.transaction(async (tx) => {
    const branding = await saveBranding(tx, merchantId, checked, now)
    if (!branding) throw refusal('change_not_possible', 'changed', 'The page was changed meanwhile. Read it again.')
    const { color, embed_origins: origins, shows_items: showsItems } = branding
    const details = { color, origins, showsItems, hasLogo: branding.logo !== null }
    await recordAction(tx, { by, action: 'branding.change', merchantId, recordId: null, details, now })
    return toView(branding)
  })
}

function check(input: BrandingInput): Omit<BrandingRow, 'logo'> & { logo: Buffer | null | undefined } {
  const wrong: { field: string; code: 'invalid_format' | 'too_large'; message: string }[] = []
  const refuse = (field: string, message: string) => wrong.push({ field, code: 'invalid_format', message })
  const color = input.color?.toLowerCase() ?? null
  if (color !== null && !/^#[0-9a-f]{6}$/.test(color)) refuse('color', 'must be a color such as #0b7a6f')
  const shopUrl = input.shopUrl === null ? null : toShopUrl(input.shopUrl)
  if (shopUrl === undefined) refuse('shopUrl', 'must be an https address such as https://shop.example.com/')
  const origins = input.embedOrigins.map((text, index) => {
    const origin = toOrigin(text)
    const message = 'must be the origin of a site, such as https://shop.example.com; http only for localhost'
    if (origin === null) refuse(`embedOrigins[${index}]`, message)
    return origin ?? ''
  })
  const logo = typeof input.logo === 'string' ? cleanPng(Buffer.from(input.logo, 'base64')) : input.logo
  if (typeof input.logo === 'string' && logo === null)
    refuse(
      'logo',
      'must be a PNG without interlacing, of at most 800 by 800 pixels and 8 bits a color; with transparency, of 8 bits',
    )
  if (logo && logo.length > logoBytesMax)
    wrong.push({ field: 'logo', code: 'too_large', message: `must be at most ${logoBytesMax} bytes` })
  if (wrong.length > 0) throw invalidFields(wrong)
  return {
    color,
    logo,
    shop_url: shopUrl ?? null,
    embed_origins: [...new Set(origins)],
    shows_items: input.showsItems,
    changed_at: toDate(input.changedAt ?? undefined) ?? null,
  }
}

/** The address as the page links to it; undefined if it must not link to it. */
function toShopUrl(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : null
  const isUsable = url?.protocol === 'https:' && url.username === '' && url.password === '' && isHost(url.hostname)
  return url && isUsable ? url.href : undefined
}

/**
 * An origin as browsers write it, and null for anything else. It goes into a header of the page: `isHost` excludes the
 * characters that would end a source there (`;`, `,`) or match other hosts (`*`), which a URL may contain.
 */
function toOrigin(text: string): string | null {
  const url = URL.canParse(text) ? new URL(text) : null
  if (!url || !isHost(url.hostname) || text.toLowerCase().replace(/\/$/, '') !== url.origin) return null
  const isOwnMachine = url.hostname === 'localhost' || url.hostname === '127.0.0.1'
  return url.protocol === 'https:' || (url.protocol === 'http:' && isOwnMachine) ? url.origin : null
}

function toView({ color, logo, shop_url, embed_origins, shows_items, changed_at }: BrandingRow): BrandingView {
  return {
    color,
    shopUrl: shop_url,
    embedOrigins: embed_origins,
    showsItems: shows_items,
    changedAt: changed_at?.toISOString() ?? null,
    logo: logo && `data:image/png;base64,${logo.toString('base64')}`,
    shades: color === null ? null : toShades(color),
  }
}

import { type Static, Type } from 'typebox'
import { Nullable } from '../http/schemas.ts'

const orNull = (schema: ReturnType<typeof Type.String>) => Type.Union([schema, Type.Null()])
/** `on`: the color of text on it. */
const Shade = Type.Object({ color: Type.String(), on: Type.String() })

/** Enough for the shops of one merchant, and few enough for the Content-Security-Policy header of each payment page. */
export const originsMax = 10

const settings = {
  /** `#rrggbb`; null for the color of Guichê. */
  color: orNull(Type.String({ maxLength: 7 })),
  /** Where the page leads back to if the transaction has no `returnUrl`. */
  shopUrl: orNull(Type.String({ maxLength: 500 })),
  /** The sites whose pages may show the payment page in a frame. */
  embedOrigins: Type.Array(Type.String({ maxLength: 300 }), { maxItems: originsMax }),
  /** Whether the page shows what is bought: the description of the charge, or its items. */
  showsItems: Type.Boolean(),
}

export const BrandingInput = Type.Object({
  ...settings,
  changedAt: Nullable(
    'string',
    'The `changedAt` of the branding that was read before this change: if it differs, somebody else has changed it since',
    'iso-date-time',
  ),
  /** A PNG in base64; null removes it, and without the field it stays. */
  logo: Type.Optional(orNull(Type.String({ maxLength: 40_000 }))),
})
export type BrandingInput = Static<typeof BrandingInput>

export const BrandingView = Type.Object({
  ...settings,
  /** Null if it was never changed. */
  changedAt: Nullable('string', '', 'iso-date-time'),
  /** As a data URL. */
  logo: orNull(Type.String()),
  /** The shades of the color on the page. */
  shades: Type.Union([Type.Object({ light: Shade, dark: Shade }), Type.Null()]),
})
export type BrandingView = Static<typeof BrandingView>

import { type Static, Type } from 'typebox'
import { Amount, amountMax, DateTime, Nullable, WebhookUrl } from '../http/schemas.ts'

const OrNull = <Value extends number>(minimum: number, maximum: number, description: string) =>
  Type.Optional(Type.Unsafe<Value | null>({ ...Amount(minimum, description, maximum), type: ['integer', 'null'] }))

/** More than a printed sign or a flyer sells, and few enough that counting the charges of a link stays fast. */
export const stockMax = 10_000

export const LinkBody = Type.Object({
  title: Type.String({ minLength: 1, maxLength: 80, pattern: '\\S', description: 'What is sold' }),
  description: Type.Optional(Type.Unsafe<string | null>({ type: ['string', 'null'], maxLength: 500 })),
  slug: Type.Optional(
    Type.String({ pattern: '^[a-z0-9]+(-[a-z0-9]+)*$', minLength: 3, maxLength: 60, description: 'Random by default' }),
  ),
  amount: OrNull(1, amountMax, 'Cents; null: the customer enters it'),
  amountMin: OrNull(1, amountMax, 'Cents; the smallest that a customer may enter'),
  amountMax: OrNull(1, amountMax, 'Cents; the largest that a customer may enter'),
  stock: OrNull(1, stockMax, 'The maximum number of payments'),
  expiresAt: Type.Optional(Type.Unsafe<string | null>({ type: ['string', 'null'], format: 'iso-date-time' })),
  needsCustomer: Type.Boolean({ description: 'The customer gives name, e-mail and CPF or CNPJ' }),
  webhookUrl: Type.Optional(Type.Unsafe<string | null>({ ...WebhookUrl, type: ['string', 'null'] })),
  isEnabled: Type.Boolean(),
  /** Cannot be turned off again: the static code may be printed. */
  hasStaticCode: Type.Boolean(),
})
export type LinkInput = Static<typeof LinkBody>

export const LinkChange = Type.Object({
  ...LinkBody.properties,
  changedAt: Type.String({ format: 'iso-date-time', description: 'Of the link as it was read' }),
})

export const LinkView = Type.Object({
  id: Type.String(),
  clientId: Type.String(),
  merchantName: Type.String(),
  url: Type.String(),
  slug: Type.String(),
  title: Type.String(),
  description: Nullable('string', ''),
  amount: Nullable('integer', ''),
  amountMin: Nullable('integer', ''),
  amountMax: Nullable('integer', ''),
  stock: Nullable('integer', ''),
  expiresAt: Nullable('string', '', 'date-time'),
  needsCustomer: Type.Boolean(),
  webhookUrl: Nullable('string', ''),
  isEnabled: Type.Boolean(),
  state: Type.Enum(['active', 'disabled', 'expired', 'sold_out']),
  /** The payments received, and their sum: refunded ones count, those that went back to suspense do not. */
  paymentCount: Type.Integer(),
  paymentAmount: Type.Integer(),
  /** Charges that are paid or may still be. */
  reserved: Type.Integer(),
  hasStaticCode: Type.Boolean(),
  createdAt: DateTime(''),
  changedAt: DateTime(''),
})
export type LinkResponse = Static<typeof LinkView>

export const LinkDetailView = Type.Object({
  ...LinkView.properties,
  qrCode: Type.String(),
  staticCode: Nullable('string', 'The copy-and-paste code'),
  staticQrCode: Nullable('string', ''),
})
export type LinkDetailResponse = Static<typeof LinkDetailView>

export const LinkPaymentView = Type.Object({
  id: Type.String(),
  status: Type.String(),
  amount: Type.Integer(),
  createdAt: DateTime(''),
  paidAt: Nullable('string', '', 'date-time'),
  payerName: Nullable('string', ''),
  /** Paid by the static code. */
  isStatic: Type.Boolean(),
})
export type LinkPaymentResponse = Static<typeof LinkPaymentView>

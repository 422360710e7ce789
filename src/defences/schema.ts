import { type Static, Type } from 'typebox'
import { defenceStates } from './status.ts'

/** About two pages: a bank's analyst reads no more. */
export const textMax = 4000
/** Enough for an order, an invoice, a tracking page and photos of a delivery. */
export const filesMax = 10
/** A photo taken with a phone, or a scan of some pages. */
export const fileBytesMax = 5 * 1024 * 1024
/** All files of one dispute. They are in the database and in every backup of it. */
export const totalBytesMax = 20 * 1024 * 1024

export const fileTypes = ['application/pdf', 'image/png', 'image/jpeg', 'image/webp', 'text/plain'] as const
export type FileType = (typeof fileTypes)[number]

/** What was delivered: it says which proof a bank expects. */
const deliveryKinds = ['goods', 'digital', 'service'] as const

const strict = { additionalProperties: false }
const Line = (maxLength: number) => Type.String({ maxLength })

/** Proof of the delivery. Empty texts where something is not known. */
export const Delivery = Type.Object(
  {
    kind: Type.Union([Type.Enum([...deliveryKinds]), Type.Null()]),
    carrier: Line(80),
    trackingCode: Line(60),
    /** The day of the delivery, of the access or of the service: `2026-11-20`, or empty. */
    deliveredOn: Type.String({ pattern: '^(\\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01]))?$' }),
    /** Who received it. */
    receivedBy: Line(100),
    /** Number or access key of the tax invoice. */
    invoice: Line(60),
  },
  strict,
)
export type Delivery = Static<typeof Delivery>

export const noProofOfDelivery: Delivery = {
  ...{ kind: null, carrier: '', trackingCode: '', deliveredOn: '', receivedBy: '', invoice: '' },
}

export const DefenceInput = Type.Object(
  {
    text: Type.String({ maxLength: textMax }),
    delivery: Delivery,
    /** The revision that was read: 0 before the first one. */
    revision: Type.Integer({ minimum: 0, maximum: 1e9 }),
  },
  strict,
)
export type DefenceInput = Static<typeof DefenceInput>

/** What a person confirms: the revision and the files that they have read. */
const confirmed = {
  revision: Type.Integer({ minimum: 0, maximum: 1e9 }),
  fileIds: Type.Array(Type.String({ format: 'uuid-any' }), { maxItems: filesMax }),
}
export const SendInput = Type.Object(confirmed, strict)
export type SendInput = Static<typeof SendInput>
/** `reference`: how the PSP names it, such as a protocol number. */
export const HandInInput = Type.Object({ ...confirmed, reference: Line(120) }, strict)
export type HandInInput = Static<typeof HandInInput>

const Text = Type.String()
const OrNull = <Schema extends ReturnType<typeof Type.String>>(schema: Schema) => Type.Union([schema, Type.Null()])

const FileView = Type.Object({
  ...{ id: Text, name: Text, type: Type.Enum([...fileTypes]), size: Type.Integer(), sha256: Text, addedAt: Text },
  /** True after the personal data was erased: the file is gone, its hash stays. */
  isErased: Type.Boolean(),
})
export type FileView = Static<typeof FileView>

const WrittenView = Type.Object({
  state: Type.Enum([...defenceStates]),
  ...{ revision: Type.Integer(), text: Text, delivery: Delivery },
  /** When sending was last requested, and when the PSP received it or a person submitted it by hand. */
  ...{ requestedAt: OrNull(Text), answeredAt: OrNull(Text) },
  /** The PSP's number for it, or what the person who submitted it by hand noted. */
  reference: OrNull(Text),
  /** Why the PSP refused the last attempt. */
  refusal: OrNull(Text),
  ...{ changedAt: Text, isErased: Type.Boolean() },
})

export const DefenceView = Type.Object({
  disputeId: Text,
  /** Whether the PSP's API takes it. Otherwise a person submits it by hand. */
  canSend: Type.Boolean(),
  /** Whether it can be edited and sent: the dispute is open and it is not sent. */
  isOpen: Type.Boolean(),
  /** Null before anything was written. */
  written: Type.Union([WrittenView, Type.Null()]),
  files: Type.Array(FileView),
  limits: Type.Object({
    ...{ text: Type.Integer(), files: Type.Integer(), fileBytes: Type.Integer(), totalBytes: Type.Integer() },
  }),
})
export type DefenceView = Static<typeof DefenceView>

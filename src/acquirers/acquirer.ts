import type { Cents } from '../lib/money.ts'
import type { AccountHolder } from '../pix/holder.ts'

/**
 * The port to a bank or PSP: what the gateway needs of it, in the gateway's own words. One adapter, bacen/, speaks the
 * Central Bank's API Pix, and all PSPs of weight do. An acquirer is stateless and knows no database.
 *
 * A method resolves with what is certain, and throws {@link AcquirerUnavailable} where the outcome is unknown: a
 * time-out, a broken connection, a 5xx. Unknown is not failed: the caller asks again under the same txid.
 */
export type Acquirer = {
  readonly name: string
  /** True when asking it costs a trip over the network. */
  readonly isRemote: boolean
  /** The account that is credited: the operator's own at this PSP. */
  readonly receiver: AccountHolder

  /** Idempotent: the same txid with the same content gives the same charge, however often it is asked for. */
  createCharge(input: ChargeInput): Promise<ChargeOutcome>
  /** The charge with its payments, or null when the acquirer has none under this txid. */
  findCharge(txid: string): Promise<Charge | null>
  /** One payment that arrived, or null. Case matters in an endToEndId. */
  findPayment(endToEndId: string): Promise<Payment | null>
  /** Payments that arrived in [from, to], all pages of them. Finds what no callback told of. */
  listPayments(range: { from: Date; to: Date }): AsyncIterable<Payment>

  /** Has the acquirer POST its callbacks to this address (with `/pix` appended, as the standard says). */
  registerCallback(url: string): Promise<void>
  /** What a callback claims. A hint, never proof: the caller reads it back. Throws {@link UnreadableCallback}. */
  readCallback(body: unknown): CallbackNotice[]
}

export type ChargeInput = { txid: string; amount: Cents; expiresInSeconds: number }

export type ChargeOutcome = { outcome: 'created'; charge: Charge } | { outcome: 'refused'; reason: string }

export type Charge = {
  txid: string
  amount: Cents
  /** The copy-and-paste string (BR Code). */
  uri: string
  createdAt: Date
  expiresAt: Date
  payments: Payment[]
}

export type Payment = {
  endToEndId: string
  /** Null when the payer sent money to the key without naming a charge. */
  txid: string | null
  amount: Cents
  paidAt: Date
  /** Only when the PSP tells all of it: the standard's Pix has no payer. */
  payer: AccountHolder | null
}

export type CallbackNotice = {
  /** Unique per acquirer and event: a repeated callback has the same. */
  eventKey: string
  endToEndId: string
  txid: string | null
}

/** The outcome is not known. Ask again under the same identifier. */
export class AcquirerUnavailable extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.name = 'AcquirerUnavailable'
  }
}

/** The body of a callback is not what the standard says. */
export class UnreadableCallback extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'UnreadableCallback'
  }
}

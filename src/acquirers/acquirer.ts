import type { Cents } from '../lib/money.ts'
import type { AccountHolder } from '../pix/holder.ts'
import type { PixKey } from '../pix/key.ts'

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

  /** Returns a payment or a part of it. Idempotent under our own id. */
  refund(input: RefundInput): Promise<MoneyOut>
  /** What became of a refund, or null when the acquirer has none under this id. */
  findRefund(input: { endToEndId: string; refundId: string }): Promise<MoneyOut | null>

  /** Sends money to a PIX key; null where the PSP's API has no payouts. */
  readonly payouts: Payouts | null
  /** Contests of payments (MED), where the PSP's API tells of them; else its only signal is a return in {@link Payment.returns}. */
  readonly infractions: Infractions | null

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
  returns: PaymentReturn[]
}

/** A return of a payment that is not of our making: the standard's `devolucoes` with a MED nature. */
export type PaymentReturn = {
  id: string
  endToEndId: string | null
  amount: Cents
  nature: string
  isDone: boolean
  at: Date
}

export type RefundInput = { endToEndId: string; refundId: string; amount: Cents }

/**
 * Money that leaves. processing: not known yet, ask again; done: it left; refused: it is certain that nothing left.
 * What is neither clearly done nor clearly refused is processing.
 */
export type MoneyOut =
  | { outcome: 'processing'; endToEndId: string | null }
  | { outcome: 'done'; endToEndId: string | null; at: Date; receiver: AccountHolder | null }
  | { outcome: 'refused'; reason: string }

export type Payouts = {
  /** Idempotent under our own id: the same id never sends twice. */
  send(input: { payoutId: string; amount: Cents; pixKey: PixKey }): Promise<MoneyOut>
  /** What became of a payout, or null when the acquirer has none under this id. */
  find(payoutId: string): Promise<PayoutFound | null>
}

/** `returned`: the receiver sent it back afterwards, under this endToEndId. */
export type PayoutFound = MoneyOut & { returned?: { endToEndId: string; amount: Cents; at: Date } }

export type InfractionFound = {
  /** The acquirer's own identifier. */
  reference: string
  endToEndId: string
  amount: Cents
  reason: string | null
  state: 'open' | 'accepted' | 'returned' | 'rejected' | 'canceled'
  openedAt: Date
}

export type Infractions = {
  /** Those that were opened or changed in [from, to], all pages of them. */
  list(range: { from: Date; to: Date }): AsyncIterable<InfractionFound>
}

export type CallbackNotice = {
  /** Unique per acquirer and event: a repeated callback has the same. A return of the same payment is another event. */
  eventKey: string
  endToEndId: string
  txid: string | null
  /** Our own id of the payout that it tells of; null when it tells of a payment that came in. */
  payoutId: string | null
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

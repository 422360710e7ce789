import type { Cents } from '../lib/money.ts'
import type { AccountHolder } from '../pix/holder.ts'
import type { PixKey } from '../pix/key.ts'
import type { CallbackDoor } from './callbacks.ts'

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
  /** False while its circuit is open: it did not answer lately, and a question would be refused unasked. */
  isAvailable(): boolean
  /** Of the certificate with which we connect; null where the PSP wants none. `expiresAt` is null where it cannot be read. */
  readonly certificate: { expiresAt(): Date | null } | null
  /** What was agreed with the PSP; null where nobody told. */
  readonly fees: { payment: FeeAgreed | null; payout: FeeAgreed | null }
  /** By what a callback of this acquirer is known. */
  readonly callbacks: CallbackDoor

  /** Idempotent: the same txid with the same content gives the same charge, however often it is asked for. */
  createCharge(input: ChargeInput): Promise<ChargeOutcome>
  /** The charge with its payments, or null when the acquirer has none under this txid. */
  findCharge(txid: string): Promise<Charge | null>
  /** One payment that arrived, or null. Case matters in an endToEndId. */
  findPayment(endToEndId: string): Promise<Payment | null>
  /** Payments that arrived in [from, to], all pages of them; with `withReturns` only those that have a return. */
  listPayments(range: Range & { withReturns?: boolean } & PutAside): AsyncIterable<Payment>

  /** Returns a payment or a part of it. Idempotent under our own id. */
  refund(input: RefundInput): Promise<MoneyOut>
  /** What became of a refund, or null when the acquirer has none under this id. */
  findRefund(input: { endToEndId: string; refundId: string }): Promise<MoneyOut | null>

  /** Sends money to a PIX key; null where the PSP's API has no payouts. */
  readonly payouts: Payouts | null
  /** What the account holds, by the PSP's own word; null where its API does not tell. */
  readonly readBalance: (() => Promise<AccountBalance>) | null
  /** Contests of payments (MED), where the PSP's API tells of them; else its only signal is a return in {@link Payment.returns}. */
  readonly infractions: Infractions | null

  /** Has the acquirer POST its callbacks to this address (with `/pix` appended, as the standard says). */
  registerCallback(url: string): Promise<void>
  /**
   * What a callback claims. A hint, never proof: the caller reads it back. Tells `passOver` of each entry that it leaves out.
   * Throws {@link UnreadableCallback}.
   */
  readCallback(body: unknown, passOver?: (reason: PassedOver) => void): CallbackNotice[]
}

export type Range = { from: Date; to: Date }

/** Called for each entry of a list that cannot be read. Without it the list ends with {@link UnreadableAnswer} after the entries that can. */
export type PutAside = { putAside?: (entry: UnreadableEntry) => void }

/** An entry that is money and cannot be read. */
export type UnreadableEntry = {
  /** Its endToEndId where it has one, else a name made of its content: the same entry has the same name each time. */
  reference: string
  /** Null where its time cannot be read. */
  at: Date | null
  /** As the PSP sent it, cut where it is long. */
  raw: string
}

/** In cents; an account may be below zero. All that it holds is `available` and `blocked` together. */
export type AccountBalance = {
  /** What can be sent out now. */
  available: number
  /** What the PSP blocks, for whatever reason; null where it does not tell. */
  blocked: number | null
  /** The part of `blocked` that is under MED; null where it does not tell. */
  disputed: number | null
}

/** `fixed`, `minimum` and `maximum` in cents; 119 basis points are 1.19 %. */
export type FeeAgreed = { fixed: Cents; basisPoints: number; minimum: Cents; maximum: Cents | null }

export type ChargeInput = { txid: string; amount: Cents; expiresInSeconds: number }

export type ChargeOutcome = { outcome: 'created'; charge: Charge } | { outcome: 'refused'; reason: string }

export type Charge = {
  txid: string
  amount: Cents
  /** The copy-and-paste string (BR Code). */
  uri: string
  createdAt: Date
  expiresAt: Date
  /** completed: the acquirer says that it was paid, whether or not it shows by what yet; removed: nobody can pay it any more. */
  status: 'active' | 'completed' | 'removed'
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
  /** All that went back or is on its way, ours and those under MED; what was refused is left out. */
  returns: PaymentReturn[]
  /** What the PSP says that it kept; null where it says nothing. */
  fee: Cents | null
}

/** The standard's `devolucoes`. Ours have the nature `ORIGINAL` and our own id; one that begins with `MED` is not of our making. */
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
  | {
      outcome: 'refused'
      reason: string
      /** The settlement system or a bank in it could not do it at that moment: the same may be done a little later, under another id. */
      isPassing?: true
    }

export type PayoutOrder = { payoutId: string; amount: Cents; pixKey: PixKey }

/** By what an acquirer knows a payout. */
export type PayoutKey = {
  payoutId: string
  /** The acquirer's own id of it, where it has one and has told it. */
  reference?: string | null
}

export type Payouts = {
  /**
   * Gets the acquirer's own id of a payout before any money moves, where the acquirer has two steps; null where it has one. The caller keeps
   * the id in a commit of its own before it calls `send`, and never replaces it.
   */
  readonly prepare: ((order: PayoutOrder) => Promise<PayoutPrepared>) | null
  /**
   * Idempotent under our own id: the same id never sends twice. `firstAskedAt` is the time of an earlier request for the same payout whose
   * outcome is not known. Throws {@link NeedsPerson} where the acquirer cannot be asked again safely.
   */
  send(order: PayoutOrder & PayoutKey & { firstAskedAt?: Date | null }): Promise<PayoutSent>
  /** What became of a payout, or null when the acquirer has none under this key. */
  find(key: PayoutKey): Promise<PayoutFound | null>
  /** Payouts that were asked for in [from, to], all pages of them, those that others sent from the account included. Null where there is no list. */
  readonly list: ((range: Range & PutAside) => AsyncIterable<PayoutListed>) | null
}

export type PayoutPrepared = { outcome: 'prepared'; reference: string } | { outcome: 'refused'; reason: string }

/** `reference`: the acquirer's own id of the payout, where it tells one now. The caller keeps it. */
export type PayoutSent = MoneyOut & { reference?: string }

export type PayoutListed = {
  /** Our own id, or null where it was not sent through this port. */
  payoutId: string | null
  endToEndId: string
  amount: Cents
  at: Date
  status: 'processing' | 'done' | 'refused'
  fee: Cents | null
}

/** `returned`: the receiver sent it back afterwards, under this endToEndId. */
export type PayoutFound = MoneyOut & { returned?: { endToEndId: string; amount: Cents; at: Date } }

export type InfractionFound = {
  /** The acquirer's own identifier. */
  reference: string
  endToEndId: string
  amount: Cents
  reason: string | null
  /** unknown: a status that we cannot read. The money stays blocked, and an operator has to look. */
  state: 'open' | 'accepted' | 'returned' | 'rejected' | 'canceled' | 'unknown'
  /** The acquirer's own word for it. */
  status: string | null
  openedAt: Date
  /** Until when the acquirer decides, where it says so. */
  deadline: Date | null
}

export type Infractions = {
  /**
   * The disputes of [from, to], all pages of them. Which of its dates a PSP compares is not documented: ask from the opening of each dispute that
   * is still followed.
   *
   * @throws {NotOffered} where the acquirer lists none in this environment
   */
  list(range: Range): AsyncIterable<InfractionFound>
}

/** Why an entry of a callback is left out: it names no payment, or the key of somebody else. */
export type PassedOver = 'unreadable_entry' | 'other_key'

export type CallbackNotice = {
  /** Unique per acquirer and event: a repeated callback has the same. A return of the same payment is another event. */
  eventKey: string
  endToEndId: string
  txid: string | null
  /** Our own id of the payout that it tells of; null when it tells of a payment that came in. */
  payoutId: string | null
  /** The acquirer's own id of the payout, where that is all that it tells. */
  payoutReference?: string
}

/** The outcome is not known. Ask again under the same identifier. */
export class AcquirerUnavailable extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.name = 'AcquirerUnavailable'
  }
}

/** The outcome is not known, and only a person can find it out at the acquirer. */
export class NeedsPerson extends AcquirerUnavailable {
  constructor(message: string) {
    super(message)
    this.name = 'NeedsPerson'
  }
}

/** What the acquirer tells cannot be read, and asking again will most likely not help: somebody has to look at it. */
export class UnreadableAnswer extends AcquirerUnavailable {
  constructor(message: string) {
    super(message)
    this.name = 'UnreadableAnswer'
  }
}

/** The acquirer has switched this function off where we ask it, as Efí lists no disputes in homologation. Asking again soon will not help. */
export class NotOffered extends AcquirerUnavailable {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.name = 'NotOffered'
  }
}

/** The body of a callback is not what the standard says. */
export class UnreadableCallback extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'UnreadableCallback'
  }
}

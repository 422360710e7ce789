import type { TaxDocument } from '../lib/document.ts'
import type { Cents } from '../lib/money.ts'
import type { AccountHolder } from '../pix/holder.ts'
import type { PixKey } from '../pix/key.ts'
import type { CallbackAccess } from './callbacks.ts'

/**
 * The port to a bank or PSP: what the gateway needs from it, in the gateway's own terms. There is one adapter, bacen/:
 * it speaks the Central Bank's API Pix, as all large PSPs do. An acquirer uses no database: it has its token, the state
 * of its breaker and its certificate in memory only.
 *
 * A method resolves when the outcome is certain, and throws {@link AcquirerUnavailable} when it is unknown: a
 * time-out, a broken connection, a 5xx. Unknown is not failed: the caller repeats the request under the same id.
 */
export type Acquirer = {
  readonly name: string
  /** True when requests to it go over the network. */
  readonly isRemote: boolean
  /** The account that is credited: the operator's own at this PSP. */
  readonly receiver: AccountHolder
  /** The Pix key that charges credit. The receiver may show another one. */
  readonly chargeKey: string
  /** False while its circuit is open: it did not answer lately. */
  isAvailable(): boolean
  /** True while the breaker refuses requests. It ends before the circuit closes: then one request tests it. */
  isPausing(): boolean
  /** Our client certificate; null where none is configured. */
  readonly certificate: { expiresAt(): Date | null } | null
  /** The fees agreed with the PSP; null where none is configured. */
  readonly fees: { payment: FeeAgreed | null; payout: FeeAgreed | null }
  /** How a callback of this acquirer is recognized. */
  readonly callbacks: CallbackAccess

  /** Idempotent: the same txid with the same content gives the same charge, however often it is requested. */
  createCharge(input: ChargeInput): Promise<ChargeOutcome>
  /** The charge with its payments, or null when the acquirer has none under this txid. */
  findCharge(txid: string): Promise<Charge | null>
  /**
   * Has the acquirer remove a charge, so that nobody can pay it any more. Only {@link findCharge} says whether it did:
   * a payment may have been faster. Idempotent.
   */
  removeCharge(txid: string): Promise<Removal>
  /** One incoming payment to our key, or null. An endToEndId is case-sensitive. */
  findPayment(endToEndId: string): Promise<Payment | null>
  /** Incoming payments of [from, to], all pages; with `withReturns` only those that have a return. */
  listPayments(range: Range & { withReturns?: boolean } & OnUnreadable): AsyncIterable<Payment>

  /** Sends a payment or a part of it back to the payer. Idempotent under our own id. */
  refund(input: RefundInput): Promise<MoneyOut>
  /** The state of a refund, or null when the acquirer has none under this id. */
  findRefund(input: { endToEndId: string; refundId: string }): Promise<MoneyOut | null>

  /** Sends money to a PIX key; null where the PSP's API has no payouts. */
  readonly payouts: Payouts | null
  /** The account's balance as the PSP reports it; null where its API has none. */
  readonly readBalance: (() => Promise<AccountBalance>) | null
  /**
   * Disputes (MED), where the PSP's API lists them; otherwise a return in {@link Payment.returns} is the only signal.
   */
  readonly disputes: Disputes | null

  /** Registers the address for callbacks. The acquirer POSTs to it with `/pix` appended, as the standard says. */
  registerCallback(url: string): Promise<void>
  /**
   * What a callback claims. It is a hint, never proof: the caller queries the acquirer. Calls `onSkipped` for each
   * entry that it skips. Throws {@link UnreadableCallback}.
   */
  readCallback(body: unknown, onSkipped?: (reason: SkipReason) => void): CallbackNotice[]
}

export type Range = { from: Date; to: Date }

/**
 * `onUnreadable` is called for each unreadable entry of a list, up to a limit. Without it, and beyond the limit, the
 * list yields its readable entries and then throws {@link UnreadableAnswer}.
 */
export type OnUnreadable = { onUnreadable?: (entry: UnreadableEntry) => void }

/** A payment, payout or dispute in a list that cannot be read. */
export type UnreadableEntry = {
  /**
   * Its endToEndId, or the acquirer's identifier of a dispute, where it has one; else a hash of its content: the same
   * entry has the same reference each time.
   */
  reference: string
  /** Null where its time cannot be read. */
  at: Date | null
  /** As the PSP sent it, truncated. */
  raw: string
}

/** In cents; may be negative. The account's total is `available` plus `blocked`. */
export type AccountBalance = {
  /** What can be sent out now. */
  available: number
  /** What the PSP blocks, for whatever reason; null where it does not report it. */
  blocked: number | null
  /** The part of `blocked` that is disputed (MED); null where the PSP does not report it. */
  disputed: number | null
}

/** `fixed`, `minimum` and `maximum` in cents; 119 basis points are 1.19 %. */
export type FeeAgreed = { fixed: Cents; basisPoints: number; minimum: Cents; maximum: Cents | null }

export type ChargeInput = { txid: string; amount: Cents; expiresInSeconds: number; texts?: ChargeTexts }

/**
 * What the payer's bank may show. The adapter fits them to the PSP's limits, and a charge never fails because of them.
 */
export type ChargeTexts = {
  merchantName: string
  sellerName: string | null
  description: string | null
  items: { title: string; quantity: number }[]
  /** To whom the charge is addressed. Anyone may pay it. */
  payer: { name: string; document: TaxDocument } | null
}

export type ChargeOutcome = { outcome: 'created'; charge: PayableCharge } | { outcome: 'refused'; reason: string }

/** refused: as far as this answer goes, the charge is what it was. */
export type Removal = { outcome: 'done' } | { outcome: 'refused'; reason: string }

export type Charge = {
  txid: string
  amount: Cents
  /** The copy-and-paste string (BR Code); null where a found charge has neither a code nor a usable location. */
  uri: string | null
  createdAt: Date
  expiresAt: Date
  /**
   * completed: the acquirer says that it was paid, even if it lists no payment yet; removed: it can no longer be paid.
   */
  status: 'active' | 'completed' | 'removed'
  payments: Payment[]
}

export type PayableCharge = Charge & { uri: string }

export type Payment = {
  endToEndId: string
  /** Null when the payer sent money to the key without naming a charge. */
  txid: string | null
  amount: Cents
  paidAt: Date
  /** Only when the PSP gives all of its fields: the standard's Pix has no payer. */
  payer: AccountHolder | null
  /** All returns, done or in progress, each once: our refunds and those under MED. Refused ones are left out. */
  returns: PaymentReturn[]
  /** The fee that the PSP reports; null where it reports none. */
  fee: Cents | null
}

/**
 * The standard's `devolucoes`. Ours have the nature `ORIGINAL` and our own id; the PSP makes those that begin with
 * `MED`.
 */
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
 * The state of outgoing money. processing: not known yet, check again; done: it left; refused: it is certain that
 * nothing left. What is neither clearly done nor clearly refused is processing.
 */
export type MoneyOut =
  | { outcome: 'processing'; endToEndId: string | null }
  | { outcome: 'done'; endToEndId: string | null; at: Date; receiver: AccountHolder | null }
  | {
      outcome: 'refused'
      reason: string
      /**
       * The settlement system or a bank failed for the moment: the same may succeed a little later, under another id.
       */
      isTemporary?: true
    }

export type PayoutOrder = { payoutId: string; amount: Cents; pixKey: PixKey }

/** The ids of a payout at the acquirer. */
export type PayoutKey = {
  payoutId: string
  /** The acquirer's own id of it, where it has one and has returned it. */
  reference?: string | null
  /** Whether the database may have lost the reference of a payout that is PROCESSING. */
  isReferenceLost?: boolean
  /** The time of the first request for it whose outcome is not known. */
  firstRequestedAt?: Date | null
}

export type Payouts = {
  /**
   * Gets the acquirer's own id of a payout before any money moves, where the acquirer has two steps; null where it has
   * one. The caller commits the id before it calls `send`, and never replaces it.
   */
  readonly prepare: ((order: PayoutOrder) => Promise<PayoutPrepared>) | null
  /**
   * Idempotent: the same `payoutId`, with the reference of `prepare` where there is one, never sends twice. Throws
   * {@link NeedsPerson} where the request cannot be repeated safely.
   */
  send(order: PayoutOrder & PayoutKey): Promise<PayoutSent>
  /**
   * The state of a payout, or null when the acquirer has none under this key. Throws {@link NeedsPerson} where the lost
   * reference is the only id, and the request cannot be repeated to learn it.
   */
  find(key: PayoutKey): Promise<PayoutFound | null>
  /** Whether {@link find} shows what the receiver sent back afterwards. */
  readonly reportsReturns: boolean
  /**
   * Payouts requested in [from, to], all pages, including those that other programs sent from the account. Null where
   * the PSP has no list.
   */
  readonly list: ((range: Range & OnUnreadable) => AsyncIterable<PayoutListed>) | null
}

export type PayoutPrepared = { outcome: 'prepared'; reference: string } | { outcome: 'refused'; reason: string }

/** `reference`: the acquirer's own id of the payout, where the answer has one. The caller stores it. */
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

/** `returned`: the receiver sent it back afterwards, under these endToEndIds: one for each part, the last part last. */
export type PayoutFound = MoneyOut & { returned?: { endToEndIds: string[]; amount: Cents; at: Date } }

export type DisputeFound = {
  /** The acquirer's own identifier. */
  reference: string
  endToEndId: string
  amount: Cents
  reason: string | null
  /** unknown: a status that we cannot read. The money stays blocked until an operator decides. */
  state: 'open' | 'accepted' | 'returned' | 'rejected' | 'canceled' | 'unknown'
  /** The acquirer's own word for it. */
  status: string | null
  openedAt: Date
  /** By when the acquirer decides, where it says so. */
  deadline: Date | null
}

/** A file of a defence. Its content is read when it is sent, so that only one is in memory. */
export type DefenceFile = { id: string; name: string; type: string; sha256: string; read(): Promise<Buffer> }

export type DefenceInput = {
  /** The acquirer's own identifier of the dispute. */
  reference: string
  /** Our own id of the defence. A corrected one has another id. */
  defenceId: string
  /** What happened and how it was delivered, in Portuguese or as the merchant wrote it. */
  text: string
  files: DefenceFile[]
}

/** refused: as far as this answer goes, the acquirer has no defence. `reference`: its own number of it. */
export type DefenceOutcome =
  | { outcome: 'received'; reference: string | null; at: Date }
  | { outcome: 'refused'; reason: string }

export type Disputes = {
  /**
   * The disputes of [from, to], all pages. Which of a dispute's dates the PSP compares with the range is not
   * documented: begin the range at the opening of the oldest dispute that is still followed.
   *
   * @throws {NotOffered} where the acquirer lists none in this environment
   */
  list(range: Range & OnUnreadable): AsyncIterable<DisputeFound>
  /**
   * Sends the receiver's defence against a dispute; null where the PSP's API has no defences, as in the Central Bank's.
   * Then a person hands it in. Idempotent under our own id: the same id counts once, however often it is sent.
   */
  readonly defend: ((input: DefenceInput) => Promise<DefenceOutcome>) | null
}

/** Why an entry of a callback is skipped: it names no payment, or another Pix key than ours. */
export type SkipReason = 'unreadable_entry' | 'other_key'

export type CallbackNotice = {
  /** Unique per acquirer and event: a repeated callback has the same. A return of the same payment is another event. */
  eventKey: string
  endToEndId: string
  txid: string | null
  /**
   * Our own id of the payout that the notice is about; null for an incoming payment, and where the notice names the
   * payout only by `payoutReference`.
   */
  payoutId: string | null
  /** The acquirer's own id of the payout, where the notice has one. */
  payoutReference?: string
}

/** The outcome is not known. Repeat the request under the same identifier. */
export class AcquirerUnavailable extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.name = 'AcquirerUnavailable'
  }
}

/** The acquirer answered 429: it takes no more requests of this kind for the moment. */
export class TooManyRequests extends AcquirerUnavailable {
  /** How long it asks us to wait; null where it does not say. */
  readonly retryAfterMs: number | null
  constructor(message: string, retryAfterMs: number | null = null) {
    super(message)
    this.name = 'TooManyRequests'
    this.retryAfterMs = retryAfterMs
  }
}

/** The outcome is not known, and only a person can find it out at the acquirer. */
export class NeedsPerson extends AcquirerUnavailable {
  constructor(message: string) {
    super(message)
    this.name = 'NeedsPerson'
  }
}

/**
 * The acquirer's answer cannot be read, and repeating the request will most likely not help: a person has to check it.
 */
export class UnreadableAnswer extends AcquirerUnavailable {
  constructor(message: string) {
    super(message)
    this.name = 'UnreadableAnswer'
  }
}

/**
 * The acquirer has switched this function off in this environment: Efí lists no disputes in homologation. Repeating the
 * request soon will not help.
 */
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

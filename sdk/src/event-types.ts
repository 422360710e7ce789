import type { EventFilters, EventQuery, Transaction, TransactionStatus, Withdrawal, WithdrawalStatus } from './types.ts'

/** Fields that every webhook has. */
type Envelope<Type extends string, Data> = {
  /** The id of the event, equal to the header `webhook-id`. The same event can arrive twice, with the same id. */
  id: string
  /** What happened. */
  type: Type
  /** When it happened. */
  timestamp: string
  /**
   * The record as the API returned it at that time, and `sequence`, which counts the record's changes from 1. An event
   * is stale if its `sequence` is not above the last one that you saw of this record.
   */
  data: Data & { sequence: number }
}

type TransactionEventOf<Status extends TransactionStatus> = Envelope<
  `transaction.${Lowercase<Status>}`,
  Transaction & { status: Status }
>
type WithdrawalEventOf<Status extends WithdrawalStatus> = Envelope<
  `withdrawal.${Lowercase<Status>}`,
  Withdrawal & { status: Status }
>

// One event type for each status, so that `type` narrows the status. Creation as PENDING sends no event.
type EachTransaction<Status> = Status extends TransactionStatus ? TransactionEventOf<Status> : never
type EachWithdrawal<Status> = Status extends WithdrawalStatus ? WithdrawalEventOf<Status> : never

/** A change of a transaction: `event.type === 'transaction.paid'` says which, and narrows `event.data`. */
export type TransactionEvent = EachTransaction<Exclude<TransactionStatus, 'PENDING'>>

/** A change of a withdrawal: `event.type === 'withdrawal.processed'` says which, and narrows `event.data`. */
export type WithdrawalEvent = EachWithdrawal<Exclude<WithdrawalStatus, 'PENDING'>>

/** Any event of a record. Answer other types, such as `webhook.test` and those of a newer service, with 2xx too. */
export type WebhookEvent = TransactionEvent | WithdrawalEvent

/** An event of the feed. */
export type FeedEvent = WebhookEvent & {
  /** 1, 2, 3 … without a gap, unless you filter the feed. */
  number: number
  /** Save it when you have processed the event, and send it as `after`. */
  position: string
}

/** Query of the feed: which events after which position. */
export type FeedQuery = Omit<EventQuery, keyof EventFilters | 'after'> & { after: string }

/** Events after a position. */
export type FeedPage = {
  data: FeedEvent[]
  /** Send it as `after` for the next page. */
  next: string
  /** True: there is more to read now. */
  hasMore: boolean
}

/** Such as `transaction.paid`. */
export type WebhookEventType = WebhookEvent['type']

/** The event of one type. */
export type WebhookEventOf<Type extends WebhookEventType> = Extract<WebhookEvent, { type: Type }>

import type { Transaction, TransactionStatus, Withdrawal, WithdrawalStatus } from './types.ts'

/** What every webhook has, whatever it tells of. */
type Envelope<Type extends string, Data> = {
  /** `webhook-id` of its delivery. The same event can come twice: it has the same id. */
  id: string
  /** What happened. */
  type: Type
  /** When it happened. */
  timestamp: string
  /**
   * The record as a fetch answered at that moment, and `sequence`, which counts its changes from 1: an event that is not above the last
   * one you saw of this record is stale.
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

// Each status by itself, so that `type` tells which it is. Creation as PENDING sends no event.
type EachTransaction<Status> = Status extends TransactionStatus ? TransactionEventOf<Status> : never
type EachWithdrawal<Status> = Status extends WithdrawalStatus ? WithdrawalEventOf<Status> : never

/** A change of a transaction: `event.type === 'transaction.paid'` says which, and narrows `event.data`. */
export type TransactionEvent = EachTransaction<Exclude<TransactionStatus, 'PENDING'>>

/** A change of a withdrawal: `event.type === 'withdrawal.processed'` says which, and narrows `event.data`. */
export type WithdrawalEvent = EachWithdrawal<Exclude<WithdrawalStatus, 'PENDING'>>

/** What a webhook tells. A newer service may have more types: answer those with 2xx too. */
export type WebhookEvent = TransactionEvent | WithdrawalEvent

/** Such as `transaction.paid`. */
export type WebhookEventType = WebhookEvent['type']

/** The event of one type. */
export type WebhookEventOf<Type extends WebhookEventType> = Extract<WebhookEvent, { type: Type }>

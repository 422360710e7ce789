import { type Client, toSegment, withKey } from './client.ts'
import type { RequestOptions } from './http.ts'
import type { List } from './list.ts'
import type {
  CreateWithdrawalBody,
  EventFilters,
  EventSummary,
  Withdrawal,
  WithdrawalCreated,
  WithdrawalFilters,
} from './types.ts'

/** What a withdrawal is created from: an amount in cents and a PIX key. */
export type CreateWithdrawal = Omit<CreateWithdrawalBody, 'method' | 'idempotencyKey'> &
  Partial<Pick<CreateWithdrawalBody, 'method' | 'idempotencyKey'>>

/** Paying out by PIX. */
export class Withdrawals {
  readonly #client: Client

  constructor(client: Client) {
    this.#client = client
  }

  /**
   * Sends money to a PIX key; amount and fee are set aside at once. `hold` in the answer says that it waits for somebody.
   *
   * Safe to be tried again: give an `idempotencyKey` of your own, such as the payout and its try, so that it is also safe over a restart of
   * yours; else one is made for this call.
   *
   * @throws {InsufficientBalanceError} the available balance does not cover amount and fee
   * @throws {GuicheError} `withdrawal_not_possible`: beyond a limit, which `errors` names; `payouts_stopped`
   * @example
   * ```ts
   * await guiche.withdrawals.create({
   *   amount: 150000,
   *   pixKey: { key: '+5511987654321', type: 'PHONE' },
   *   idempotencyKey: 'payout-2026-0001-try-1',
   * })
   * ```
   */
  create(input: CreateWithdrawal, options?: RequestOptions): Promise<WithdrawalCreated> {
    const { method = 'PIX', ...rest } = input
    return this.#client.post('/withdrawal', options, withKey({ ...rest, method }))
  }

  /**
   * A withdrawal as it is now.
   *
   * @throws {NotFoundError}
   */
  get(id: string, options?: RequestOptions): Promise<Withdrawal> {
    return this.#client.get(`/withdrawal/${toSegment(id)}`, options)
  }

  /** Withdrawals, newest first; all filters must fit. */
  list(filters?: WithdrawalFilters, options?: RequestOptions): List<Withdrawal> {
    return this.#client.list('/withdrawal', filters, options)
  }

  /** All that fit as CSV (RFC 4180), amounts in cents. The body of the answer comes as you read it: `await answer.text()`, or pipe `answer.body`. */
  export(
    filters?: Omit<WithdrawalFilters, 'page' | 'perPage' | 'cursor'>,
    options?: RequestOptions,
  ): Promise<Response> {
    return this.#client.exportCsv('/withdrawal', filters, options)
  }

  /**
   * Cancels one of which nothing was sent yet. Canceled already, it answers the same.
   *
   * @throws {GuicheError} `withdrawal_not_possible` once it is PROCESSING or has ended
   */
  cancel(id: string, options?: RequestOptions): Promise<Withdrawal> {
    return this.#client.post(`/withdrawal/${toSegment(id)}/cancel`, options, { isRepeatable: true })
  }

  /**
   * Says that one is meant which is held because it looks like a duplicate (`hold: 'duplicate'`): it is then sent, or waits for the operator.
   *
   * @throws {GuicheError} `withdrawal_not_possible` when it was never held as a duplicate, or has ended
   */
  confirm(id: string, options?: RequestOptions): Promise<Withdrawal> {
    return this.#client.post(`/withdrawal/${toSegment(id)}/confirm`, options, { isRepeatable: true })
  }

  /** The changes of one withdrawal, newest first. */
  events(id: string, filters?: EventFilters, options?: RequestOptions): List<EventSummary> {
    return this.#client.list(`/withdrawal/${toSegment(id)}/event`, filters, options)
  }
}

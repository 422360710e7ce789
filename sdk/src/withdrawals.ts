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

/** Input of a withdrawal: an amount in cents and a PIX key. */
export type CreateWithdrawal = Omit<CreateWithdrawalBody, 'method' | 'idempotencyKey'> &
  Partial<Pick<CreateWithdrawalBody, 'method' | 'idempotencyKey'>>

/** PIX payouts. */
export class Withdrawals {
  readonly #client: Client

  constructor(client: Client) {
    this.#client = client
  }

  /**
   * Sends money to a PIX key. Amount and fee are reserved immediately. `hold` in the answer says whether it is pending
   * review, and why.
   *
   * Safe to retry. Give your own `idempotencyKey`, such as the number of the payout and of the attempt: then a retry is
   * safe even after your process restarts. Otherwise the SDK makes one for this call.
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

  /** Withdrawals, newest first; all filters must match. */
  list(filters?: WithdrawalFilters, options?: RequestOptions): List<Withdrawal> {
    return this.#client.list('/withdrawal', filters, options)
  }

  /**
   * All matching withdrawals as CSV (RFC 4180), amounts in cents. The body arrives as you read it: `await
   * answer.text()`, or pipe `answer.body`.
   */
  export(
    filters?: Omit<WithdrawalFilters, 'page' | 'perPage' | 'cursor'>,
    options?: RequestOptions,
  ): Promise<Response> {
    return this.#client.exportCsv('/withdrawal', filters, options)
  }

  /**
   * Cancels a withdrawal that was not sent yet. If it is canceled already, the answer is the same.
   *
   * @throws {GuicheError} `withdrawal_not_possible` once it is PROCESSING or has ended
   */
  cancel(id: string, options?: RequestOptions): Promise<Withdrawal> {
    return this.#client.post(`/withdrawal/${toSegment(id)}/cancel`, options, { isRepeatable: true })
  }

  /**
   * Confirms a withdrawal that is pending review because it looks like a duplicate (`hold: 'duplicate'`). It is then
   * sent, or waits for the operator.
   *
   * @throws {GuicheError} `withdrawal_not_possible` if it was never pending review as a duplicate, or was canceled or
   * rejected
   */
  confirm(id: string, options?: RequestOptions): Promise<Withdrawal> {
    return this.#client.post(`/withdrawal/${toSegment(id)}/confirm`, options, { isRepeatable: true })
  }

  /** Status changes of one withdrawal, newest first. */
  events(id: string, filters?: EventFilters, options?: RequestOptions): List<EventSummary> {
    return this.#client.list(`/withdrawal/${toSegment(id)}/event`, filters, options)
  }
}

import { type Client, toSegment, withKey } from './client.ts'
import type { RequestOptions } from './http.ts'
import type { List } from './list.ts'
import type {
  CreateTransactionBody,
  EventFilters,
  EventSummary,
  PaymentLink,
  RefundBody,
  RefundCreated,
  Transaction,
  TransactionCreated,
  TransactionFilters,
  TransactionStatus,
} from './types.ts'
import { type WaitOptions, waitUntil } from './wait.ts'

/** Input of a transaction. Only `amount`, in cents, is required. */
export type CreateTransaction = Omit<CreateTransactionBody, 'paymentMethod' | 'pix'> &
  Partial<Pick<CreateTransactionBody, 'paymentMethod' | 'pix'>>

/** Input of a refund. */
export type CreateRefund = Omit<RefundBody, 'idempotencyKey'> & Partial<Pick<RefundBody, 'idempotencyKey'>>

/** PIX charges. */
export class Transactions {
  readonly #client: Client

  constructor(client: Client) {
    this.#client = client
  }

  /**
   * Creates a transaction and returns its QR code, as text and image.
   *
   * Safe to retry. Give your own `idempotencyKey`, such as the order number and the number of the attempt: then a retry
   * is safe even after your process restarts. Otherwise the SDK makes one for this call.
   *
   * @throws {ValidationError} with every error at once
   * @throws {AcquirerRefusedError} the PSP refused the charge
   * @throws {AcquirerUnavailableError} the PSP did not answer: the outcome is unknown, not failed
   * @example
   * ```ts
   * const { id, pixResponse } = await guiche.transactions.create({
   *   amount: 2590,
   *   externalCode: 'order-2026-0001',
   *   idempotencyKey: 'order-2026-0001-try-1',
   *   webhookUrl: 'https://shop.example.com/webhooks/pix',
   *   customer: { name: 'Maria da Silva', document: '529.982.247-25', email: 'maria@example.com' },
   * })
   * ```
   */
  create(input: CreateTransaction, options?: RequestOptions): Promise<TransactionCreated> {
    const { paymentMethod = 'PIX', pix = {}, ...rest } = input
    return this.#client.post('/transaction', options, withKey({ ...rest, paymentMethod, pix }))
  }

  /**
   * A transaction as it is now.
   *
   * @throws {NotFoundError}
   */
  get(id: string, options?: RequestOptions): Promise<Transaction> {
    return this.#client.get(`/transaction/${toSegment(id)}`, options)
  }

  /**
   * Polls with growing pauses until the transaction has the given status or meets your condition, and returns it.
   * For scripts and tests; a shop sets `webhookUrl` and receives events instead.
   *
   * @throws {GuicheError} `wait_timed_out` after `timeoutMs`, 30,000 milliseconds by default; its message names the
   *   last status of the transaction
   * @example
   * ```ts
   * const { endToEnd } = await guiche.transactions.waitFor(id, 'PAID', { timeoutMs: 10_000 })
   * const { refunds } = await guiche.transactions.waitFor(id, ({ refunds = [] }) => refunds.every(({ status }) => status !== 'PROCESSING'))
   * ```
   */
  waitFor(
    id: string,
    until: TransactionStatus | ((transaction: Transaction) => boolean),
    options: WaitOptions = {},
  ): Promise<Transaction> {
    const missed = typeof until === 'function' ? ' and does not meet the condition' : `, not ${until}`
    return waitUntil((signal) => this.get(id, { signal }), {
      fits: typeof until === 'function' ? until : ({ status }) => status === until,
      describe: (last) => `Transaction ${id} is ${last?.status ?? 'of unknown status'}${missed}`,
      options,
    })
  }

  /**
   * The page to send the customer to. It shows the code and the amount, nothing about the customer, and turns to "paid"
   * automatically. A transaction always has the same link.
   *
   * @throws {NotFoundError}
   */
  paymentLink(id: string, options?: RequestOptions): Promise<PaymentLink> {
    return this.#client.get(`/transaction/${toSegment(id)}/payment-link`, options)
  }

  /**
   * Transactions, newest first; all filters must match.
   *
   * @example
   * ```ts
   * for await (const transaction of guiche.transactions.list({ status: ['PAID'], startDate: new Date('2026-11-01') })) {
   *   console.log(transaction.id, transaction.amountPaid)
   * }
   * ```
   */
  list(filters?: TransactionFilters, options?: RequestOptions): List<Transaction> {
    return this.#client.list('/transaction', filters, options)
  }

  /**
   * All matching transactions as CSV (RFC 4180), amounts in cents. The body is streamed: read it with
   * `await response.text()`, or pipe `response.body`.
   */
  export(
    filters?: Omit<TransactionFilters, 'page' | 'perPage' | 'cursor'>,
    options?: RequestOptions,
  ): Promise<Response> {
    return this.#client.exportCsv('/transaction', filters, options)
  }

  /**
   * Refunds the payer, within 90 days of the payment: `amount` cents, or all that is left. The outcome shows in the
   * transaction and its events.
   *
   * Safe to retry, like `create`.
   *
   * @throws {GuicheError} `refund_not_possible`, `insufficient_balance` or `payouts_stopped`
   */
  refund(id: string, input: CreateRefund = {}, options?: RequestOptions): Promise<RefundCreated> {
    return this.#client.post(`/transaction/${toSegment(id)}/refund`, options, withKey(input))
  }

  /**
   * Cancels an open charge, so that nobody can pay it: the transaction is FAILED with `failureCode` `canceled`. If it is
   * canceled already, the answer is the same.
   *
   * @throws {GuicheError} `cancel_not_possible` once it was paid, or has failed for another reason
   * @throws {AcquirerRefusedError} the PSP refused to cancel the charge, which can still be paid
   * @throws {AcquirerUnavailableError} the outcome is not known yet: the PSP did not answer, or reports the charge as
   *   paid without showing the payment. Fetch the transaction later, or repeat the call
   */
  cancel(id: string, options?: RequestOptions): Promise<Transaction> {
    return this.#client.post(`/transaction/${toSegment(id)}/cancel`, options, { isRepeatable: true })
  }

  /** Status changes of one transaction, newest first. */
  events(id: string, filters?: EventFilters, options?: RequestOptions): List<EventSummary> {
    return this.#client.list(`/transaction/${toSegment(id)}/event`, filters, options)
  }
}

import {
  type Balance,
  type CreateTransaction,
  type ErrorCode,
  type Guiche,
  GuicheError,
  type List,
  type Page,
  type Refund,
  type Transaction,
  type TransactionStatus,
  ValidationError,
  verifyWebhook,
  type WebhookEvent,
  type WebhookEventType,
  type WithdrawalStatus,
} from '@guiche/sdk'

/**
 * What a shop's compiler sees of the SDK. Compiled, never run: against the source by `npm run types`, and against the
 * packed package by sdk-package.test.ts. If a line that must be wrong compiles, that is an error as well.
 */

type Equal<Left, Right> =
  (<Probe>() => Probe extends Left ? 1 : 2) extends <Probe>() => Probe extends Right ? 1 : 2 ? true : false
type Expect<Truth extends true> = Truth

/** Types that a shop's code and tables depend on: statuses, ids, cents, dates, lists and codes. */
export type Pinned = [
  Expect<
    Equal<
      TransactionStatus,
      | 'PENDING'
      | 'PIX_QRCODE_GENERATED'
      | 'PAID'
      | 'PROCESSING_REFUND'
      | 'PROCESSING_INFRACTION'
      | 'REFUNDED'
      | 'INFRACTION'
      | 'FAILED'
      | 'BLOCKED'
    >
  >,
  Expect<
    Equal<WithdrawalStatus, 'PENDING' | 'PROCESSING' | 'PROCESSED' | 'FAILED' | 'CANCELED' | 'REFUNDED' | 'REJECTED'>
  >,
  Expect<Equal<Transaction['id'], string>>,
  Expect<Equal<Transaction['amount'], number>>,
  Expect<Equal<Transaction['amountPaid'], number | undefined>>,
  Expect<Equal<Transaction['createdAt'], string>>,
  Expect<Equal<Transaction['errorMessage'], string | null>>,
  Expect<Equal<Refund['status'], 'PROCESSING' | 'REFUNDED' | 'FAILED'>>,
  Expect<
    Equal<
      Balance,
      Record<'available' | 'reserved' | 'blocked' | 'debt', number> & { at: string } extends infer All
        ? { [Name in keyof All]: All[Name] }
        : never
    >
  >,
  Expect<Equal<ReturnType<Guiche['transactions']['list']>, List<Transaction>>>,
  Expect<Equal<Awaited<ReturnType<List<Transaction>['page']>>, Page<Transaction>>>,
  Expect<Equal<Awaited<ReturnType<List<Transaction>['all']>>, Transaction[]>>,
  Expect<Equal<Extract<ErrorCode, 'idempotency_key_reused'>, 'idempotency_key_reused'>>,
  Expect<Equal<Extract<WebhookEventType, 'withdrawal.processed'>, 'withdrawal.processed'>>,
  // Creation sends no event.
  Expect<Equal<Extract<WebhookEventType, `${string}.pending`>, never>>,
]

export async function charge(guiche: Guiche) {
  const input: CreateTransaction = { amount: 2590 }
  const created = await guiche.transactions.create(input, { signal: AbortSignal.timeout(1000) })
  const uri: string = created.pixResponse.uri
  // @ts-expect-error an amount is a number of cents
  await guiche.transactions.create({ amount: '25.90' })
  // @ts-expect-error an amount must be there
  await guiche.transactions.create({ externalCode: 'order-2026-0001' })
  // @ts-expect-error a key has a type
  await guiche.withdrawals.create({ amount: 1000, pixKey: { key: 'maria@example.com' } })
  await guiche.transactions.refund(created.id, { amount: 100 })
  return uri
}

export async function read(guiche: Guiche): Promise<number> {
  let sum = 0
  const filters = { status: ['PAID' as const], startDate: new Date(), minAmount: 100 }
  for await (const { amountPaid = 0 } of guiche.transactions.list(filters)) sum += amountPaid
  // @ts-expect-error a status that there is not
  guiche.transactions.list({ status: ['PAYED'] })
  // @ts-expect-error a filter that there is not
  guiche.withdrawals.list({ customerEmail: 'maria@example.com' })
  return sum
}

export async function receive(secret: string, request: Request): Promise<number | string | undefined> {
  const event: WebhookEvent = await verifyWebhook(secret, request.headers, await request.arrayBuffer())
  if (event.type === 'transaction.paid') {
    const status: 'PAID' = event.data.status
    // @ts-expect-error that of a withdrawal
    const withdrawn = event.data.amountWithdrawn
    return status && (withdrawn ?? event.data.amountPaid)
  }
  if (event.type === 'withdrawal.processed') return event.data.amountWithdrawn
  // @ts-expect-error no such event
  if (event.type === 'transaction.payed') return 'never'
  return event.data.sequence
}

export function explain(error: unknown): string {
  if (error instanceof ValidationError) return error.errors.map(({ field, message }) => `${field} ${message}`).join()
  if (!(error instanceof GuicheError)) return ''
  const status: number | undefined = error.status
  return error.code === 'insufficient_balance' ? 'top up' : `${error.detail} ${status} ${error.requestId}`
}

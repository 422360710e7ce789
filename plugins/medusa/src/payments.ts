import {
  AcquirerRefusedError,
  Guiche,
  GuicheError,
  type Transaction,
  toCents,
  verifyWebhook,
  type WebhookHeaders,
} from '@guiche/sdk'

/** The options of the provider in medusa-config.ts. */
export type Options = {
  /** The address of Guichê, such as `https://pix.example.com`. */
  baseUrl: string
  clientId: string
  clientSecret: string
  /** The client's `whsec_…` secret; both during a change of secrets. */
  webhookSecret: string | string[]
  /** The address of Medusa that Guichê reaches, without a path, such as `https://shop.example.com`. */
  backendUrl: string
  /** The `id` of this provider in medusa-config.ts. `guiche` by default. */
  id?: string
  /** How long a code can be paid. 1,800 by default, as in Guichê. */
  expirationSeconds?: number
}

/** As Medusa has it: 25.9 is R$ 25,90. */
export type PaymentTotal = { amount: number; currency: string }

/** What Medusa keeps of a payment, and shows to the storefront. */
type Data = Record<string, unknown>

type Status = 'pending' | 'captured' | 'requires_more' | 'canceled' | 'error'
type Action = {
  action: 'pending' | 'captured' | 'failed' | 'not_supported'
  data?: { session_id: string; amount: number }
}

export type Payments = {
  initiate(data: Data, total: PaymentTotal): Promise<{ id: string; status: Status; data: Data }>
  update(data: Data, total: PaymentTotal): Promise<{ status: Status; data: Data }>
  getStatus(data: Data): Promise<{ status: Status; data: Data }>
  capture(data: Data): Promise<{ data: Data }>
  refund(data: Data, amount: number): Promise<{ data: Data }>
  cancel(data: Data): Promise<{ data: Data }>
  retrieve(data: Data): Promise<{ data: Data }>
  readWebhook(headers: Data, body: string | Buffer): Promise<Action>
}

/** The time in which a bank usually carries out a refund. */
const refundWaitMs = 10_000

/** Payments of Medusa as charges of Guichê. A payment that Medusa asks for again is never charged or refunded twice. */
export function usePayments(options: Options): Payments {
  checkOptions(options)
  const guiche = new Guiche(options)

  /**
   * Creates the charge of a session and an amount, or finds it. If that one has failed, because it has expired or
   * because the amount changed and changed back, another one is created with another key.
   */
  async function charge(sessionId: string, cents: number): Promise<Data & { id: string }> {
    for (let failed = 0; ; failed += 1) {
      const created = await create(sessionId, cents, failed)
      if (created === null) continue
      const { id, paymentUrl, pixResponse } = created
      // A repeated key gets the first answer, whatever became of the charge.
      const { status } = await guiche.transactions.get(id)
      if (status !== 'FAILED')
        return { id, session_id: sessionId, amount: cents, refunds: 0, paymentUrl, ...pixResponse }
    }
  }

  /** Null if the charge of this key has failed before it had a code, so that the key gets nothing but that refusal. */
  async function create(sessionId: string, cents: number, failed: number) {
    const request = {
      amount: cents,
      idempotencyKey: failed === 0 ? `${sessionId}-${cents}` : `${sessionId}-${cents}-${failed}`,
      externalCode: sessionId,
      metadata: { session_id: sessionId },
      webhookUrl: `${options.backendUrl.replace(/\/$/, '')}/hooks/payment/guiche_${options.id ?? 'guiche'}`,
      ...(options.expirationSeconds !== undefined && { pix: { expirationSeconds: options.expirationSeconds } }),
    }
    const refused = await guiche.transactions.create(request).catch(toRefusal)
    if (!(refused instanceof AcquirerRefusedError)) return refused
    // The bank has refused now, and the key can be used again; or the key has a failed transaction, and keeps it.
    const again = await guiche.transactions.create(request).catch(toRefusal)
    if (!(again instanceof AcquirerRefusedError)) return again
    if (again.transactionId === refused.transactionId) return null
    throw again
  }

  async function cancel(data: Data): Promise<{ data: Data }> {
    // There is no charge if `initiate` failed.
    if (data.id === undefined) return { data }
    try {
      await guiche.transactions.cancel(toId(data))
    } catch (error) {
      if (!(error instanceof GuicheError) || error.code !== 'cancel_not_possible') throw error
      const { status } = await guiche.transactions.get(toId(data))
      // The charge is paid: only a refund gives the money back.
      if (status !== 'FAILED' && status !== 'REFUNDED' && status !== 'INFRACTION') throw error
    }
    return { data }
  }

  async function getStatus(data: Data): Promise<{ status: Status; data: Data }> {
    return { status: toStatus(await guiche.transactions.get(toId(data))), data }
  }

  return {
    getStatus,
    cancel,

    async initiate(data, total) {
      const charged = await charge(toText(data.session_id, 'session_id'), toCentsOfBrl(total))
      return { id: charged.id, status: 'pending', data: charged }
    },

    async update(data, total) {
      const cents = toCentsOfBrl(total)
      // Nobody must pay the code of the former amount any more. This comes first: it throws if the session is paid,
      // which is then not charged again.
      if (data.amount !== cents) await cancel(data)
      const charged = await charge(toText(data.session_id, 'session_id'), cents)
      return charged.id === data.id ? await getStatus(data) : { status: 'pending', data: charged }
    },

    async capture(data) {
      const { status } = await getStatus(data)
      // A Pix is captured when it is paid.
      if (status !== 'captured') throw new Error(`The Pix is not paid: ${status}.`)
      return { data }
    },

    async refund(data, amount) {
      const id = toId(data)
      const cents = roundToCents(amount)
      const before = await guiche.transactions.get(id)
      const failed = before.refunds?.filter(({ status }) => status === 'FAILED').length ?? 0
      // The same key until Medusa has recorded this refund, whatever the amount. Medusa's own key is another one when a
      // person tries again after a lost answer, and the payer would get the money twice.
      const done = Number(data.refunds ?? 0)
      const idempotencyKey = `${id}-refund-${done}-${failed}`
      const refund = await guiche.transactions.refund(id, { amount: cents, idempotencyKey }).catch((error: unknown) => {
        if (error instanceof GuicheError && error.code === 'idempotency_key_reused')
          throw new Error(
            'The answer to an earlier refund with another amount was lost. Refund that amount first: it is refunded only once.',
            { cause: error },
          )
        throw error
      })
      const find = ({ refunds = [] }: Transaction) => refunds.find((one) => one.id === refund.id)
      const after = await guiche.transactions
        .waitFor(id, (transaction) => find(transaction)?.status !== 'PROCESSING', { timeoutMs: refundWaitMs })
        .catch((error: unknown) => {
          // The refund is still in process, and Guichê completes it.
          if (error instanceof GuicheError && error.code === 'wait_timed_out') return null
          throw error
        })
      if (after && find(after)?.status === 'FAILED')
        throw new Error(`The bank refused the refund: ${after.errorMessage ?? 'no reason given'}`)
      return { data: { ...data, refunds: done + 1 } }
    },

    async retrieve(data) {
      return { data: { ...(await guiche.transactions.get(toId(data))) } }
    },

    async readWebhook(headers, body) {
      // Medusa answers a webhook first and reads it from a queue, perhaps hours later. A repeated one captures nothing
      // twice.
      const event = await verifyWebhook(options.webhookSecret, headers as WebhookHeaders, body, {
        toleranceSeconds: Number.POSITIVE_INFINITY,
      })
      const sessionId = 'paymentMethod' in event.data ? event.data.metadata?.session_id : undefined
      // For example a charge that another program of the merchant created.
      if (typeof sessionId !== 'string' || !event.type.startsWith('transaction.')) return { action: 'not_supported' }
      const { amountPaid = 0, statusHistory } = event.data as Transaction
      const isFirst = statusHistory.filter(({ status }) => status === 'PAID').length === 1
      // A payment is PAID again after a part of it was refunded.
      if (event.type === 'transaction.paid' && isFirst)
        return { action: 'captured', data: { session_id: sessionId, amount: amountPaid / 100 } }
      if (event.type === 'transaction.failed')
        return { action: 'failed', data: { session_id: sessionId, amount: event.data.amount / 100 } }
      return { action: 'not_supported' }
    },
  }
}

/** Throws if an option is missing: Medusa then does not start. */
export function checkOptions(options: Record<string, unknown>): void {
  const needed = ['baseUrl', 'clientId', 'clientSecret', 'webhookSecret', 'backendUrl']
  const missing = needed.filter((name) => !options[name])
  if (missing.length > 0) throw new TypeError(`The payment provider of Guichê needs ${missing.join(', ')}.`)
}

function toStatus({ status, amount, amountPaid = 0 }: Transaction): Status {
  switch (status) {
    case 'PENDING':
    case 'PIX_QRCODE_GENERATED':
      return 'pending'
    case 'PAID':
    case 'PROCESSING_REFUND':
    case 'PROCESSING_INFRACTION':
    case 'BLOCKED':
      return amountPaid >= amount ? 'captured' : 'requires_more'
    case 'REFUNDED':
    case 'INFRACTION':
      return 'canceled'
    case 'FAILED':
      return 'error'
  }
}

function toCentsOfBrl({ amount, currency }: PaymentTotal): number {
  if (currency.toLowerCase() !== 'brl') throw new TypeError(`Pix is paid in BRL, not in ${currency}.`)
  return roundToCents(amount)
}

/** Medusa does not round its totals: 5% off R$ 30.10 is 28.595. Half a cent is rounded up. */
function roundToCents(amount: number): number {
  // 15 digits, since 1.005 * 100 is 100.49999999999999.
  return toCents(Math.round(Number((amount * 100).toPrecision(15))) / 100)
}

function toId(data: Data): string {
  return toText(data.id, 'id')
}

function toText(value: unknown, name: string): string {
  if (typeof value === 'string' && value !== '') return value
  throw new TypeError(`The payment has no ${name}.`)
}

/** For a request that the bank refuses: the caller decides what the refusal means. */
function toRefusal(error: unknown): AcquirerRefusedError {
  if (error instanceof AcquirerRefusedError) return error
  throw error
}

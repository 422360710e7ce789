import type { WebhookEventOf, WebhookEventType } from '../event-types.ts'
import type {
  AccountHolder,
  Dispute,
  DisputeStatus,
  Refund,
  Return,
  Transaction,
  TransactionStatus,
  Withdrawal,
  WithdrawalStatus,
} from '../types.ts'

/**
 * An event as Guichê would send it, of a made-up record. `data` sets the fields that matter to the test.
 *
 * @example
 * ```ts
 * const event = createTestEvent('transaction.paid', { amount: 2590, externalCode: 'order-2026-0001' })
 * ```
 */
export function createTestEvent<Type extends WebhookEventType>(
  type: Type,
  data: Partial<Omit<WebhookEventOf<Type>['data'], 'status'>> = {},
): WebhookEventOf<Type> {
  const [record, status = ''] = type.split('.')
  const now = new Date()
  const made =
    record === 'transaction'
      ? makeTransaction(status.toUpperCase() as TransactionStatus, { now, ...data })
      : makeWithdrawal(status.toUpperCase() as WithdrawalStatus, { now, ...data })
  const event = {
    id: crypto.randomUUID(),
    type,
    timestamp: now.toISOString(),
    data: { ...made, sequence: made.statusHistory.length - 1, ...data },
  }
  // TypeScript cannot see that the record has the status that `type` names.
  return event as unknown as WebhookEventOf<Type>
}

type RecordOptions = { now: Date; amount?: number }

const amountDefault = 2590
const beforePayment: readonly TransactionStatus[] = ['PENDING', 'PIX_QRCODE_GENERATED']

/** The statuses that a transaction has before each one. */
const statusesBefore: Readonly<Record<TransactionStatus, readonly TransactionStatus[]>> = {
  PENDING: [],
  PIX_QRCODE_GENERATED: ['PENDING'],
  FAILED: beforePayment,
  PAID: beforePayment,
  PROCESSING_REFUND: [...beforePayment, 'PAID'],
  REFUNDED: [...beforePayment, 'PAID', 'PROCESSING_REFUND'],
  BLOCKED: [...beforePayment, 'PAID'],
  PROCESSING_INFRACTION: [...beforePayment, 'PAID', 'BLOCKED'],
  // The bank returns the payment under MED without a dispute before.
  INFRACTION: [...beforePayment, 'PAID'],
}

function makeTransaction(status: TransactionStatus, { now, amount = amountDefault }: RecordOptions): Transaction {
  const isPaid = status === 'PAID' || statusesBefore[status].includes('PAID')
  const disputes = makeDisputes(status, { now, amount })
  return {
    id: crypto.randomUUID(),
    acquirer: 'simulator',
    amount,
    paymentMethod: 'PIX',
    isInfoProduct: true,
    ...history([...statusesBefore[status], status], now),
    ...(isPaid && {
      amountPaid: amount,
      amountRefunded: status === 'REFUNDED' ? amount : 0,
      refunds: status === 'REFUNDED' || status === 'PROCESSING_REFUND' ? [makeRefund(status, { now, amount })] : [],
      amountReturned: status === 'INFRACTION' ? amount : 0,
      disputes,
      returns: status === 'INFRACTION' ? disputes.map(({ id }) => makeReturn(id, { now, amount })) : [],
      paymentDate: now.toISOString(),
      endToEnd: makeEndToEnd(now),
      payer,
    }),
    infractionDate: disputes[0]?.openedAt ?? null,
    pixResponse: {
      uri: '00020101021226580014br.gov.bcb.pix2536pix.example.com/qr/v2/not-to-be-paid5204000053039865802BR5904LOJA6009SAO PAULO62070503***6304C0DE',
      qrCodeBase64: 'data:image/png;base64,iVBORw0KGgo=',
      // A code that was not paid fails five minutes after its expiry.
      expirationDate: new Date(now.getTime() + (status === 'FAILED' ? -300_000 : 1_800_000)).toISOString(),
    },
    errorMessage: status === 'FAILED' ? 'PIX QR code expired' : null,
    ...(status === 'FAILED' && { failureCode: 'expired' }),
  }
}

function makeRefund(status: 'REFUNDED' | 'PROCESSING_REFUND', { now, amount }: Required<RecordOptions>): Refund {
  const isDone = status === 'REFUNDED'
  return {
    id: crypto.randomUUID(),
    amount,
    status: isDone ? 'REFUNDED' : 'PROCESSING',
    endToEndRefund: isDone ? makeReturnId(now) : null,
    reason: null,
    createdAt: now.toISOString(),
  }
}

const disputeStatuses: Partial<Record<TransactionStatus, DisputeStatus>> = {
  BLOCKED: 'OPEN',
  PROCESSING_INFRACTION: 'ACCEPTED',
  INFRACTION: 'RETURNED',
}

/** The dispute behind the status, if any. INFRACTION has one too: it is recorded for a return without a dispute. */
function makeDisputes(transactionStatus: TransactionStatus, { now, amount }: Required<RecordOptions>): Dispute[] {
  const status = disputeStatuses[transactionStatus]
  if (status === undefined) return []
  const isReturned = status === 'RETURNED'
  return [
    {
      id: crypto.randomUUID(),
      amount,
      amountReturned: isReturned ? amount : 0,
      amountBlocked: isReturned ? 0 : amount,
      status,
      reason: isReturned ? null : 'Made up for a test',
      openedAt: now.toISOString(),
      deadline: null,
      finishedAt: isReturned ? now.toISOString() : null,
    },
  ]
}

function makeReturn(disputeId: string, { now, amount }: Required<RecordOptions>): Return {
  return { endToEndRefund: makeReturnId(now), amount, disputeId, date: now.toISOString() }
}

function makeWithdrawal(status: WithdrawalStatus, { now, amount = amountDefault }: RecordOptions): Withdrawal {
  const hasLeft = status === 'PROCESSED' || status === 'REFUNDED'
  const path: WithdrawalStatus[] = ['PENDING', 'PROCESSING', 'PROCESSED']
  const steps = status === 'REFUNDED' ? 3 : /CANCELED|REJECTED|PROCESSING/.test(status) ? 1 : 2
  return {
    id: crypto.randomUUID(),
    acquirer: 'simulator',
    amount,
    method: 'PIX',
    ...history([...path.slice(0, steps), status], now),
    ...(hasLeft && {
      amountWithdrawn: amount,
      processedDate: now.toISOString(),
      endToEnd: makeEndToEnd(now),
    }),
    errorMessage: /FAILED|REJECTED|REFUNDED/.test(status) ? 'Made up for a test' : null,
    pixKey: { key: '+5511987654321', type: 'PHONE' },
  }
}

/** Statuses one second apart, up to the current one. */
function history<Status extends string>(statuses: Status[], now: Date) {
  const at = (index: number) => new Date(now.getTime() - (statuses.length - 1 - index) * 1000).toISOString()
  const last = statuses.length - 1
  return {
    status: statuses[last] as Status,
    createdAt: at(0),
    updatedAt: at(last),
    statusHistory: statuses.map((status, index) => ({
      status,
      date: at(index),
      durationInMilliseconds: index === last ? null : 1000,
    })),
  }
}

const payer: AccountHolder = {
  type: 'PF',
  name: 'Maria da Silva',
  document: '52998224725',
  bankAccount: { type: 'CACC', branch: '0001', number: '123456', digit: '7', ispb: '60701190' },
  pix: { key: 'maria@example.com', type: 'EMAIL' },
}

function makeEndToEnd(now: Date): string {
  const minute = now.toISOString().replace(/\D/g, '').slice(0, 12)
  return `E60701190${minute}${crypto.randomUUID().replaceAll('-', '').slice(0, 11)}`
}

function makeReturnId(now: Date): string {
  return makeEndToEnd(now).replace('E', 'D')
}

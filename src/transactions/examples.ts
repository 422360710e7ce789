import { encodeDynamicBrCode } from '../pix/brcode.ts'
import type { TransactionStatus } from './status.ts'

/** Examples of the OpenAPI document. All belong to the same purchase. */

export const exampleId = '0b7f3c0e-5c7b-4a5e-9a0d-3a1f4be0a2d1'

/** `qrCodeBase64` of examples is drawn when the document is made (http/document.ts). */
export const examplePix = {
  uri: encodeDynamicBrCode({
    location: 'pix.example.com/qr/v2/0b7f3c0e5c7b4a5e9a0d3a1f4be0a2d1',
    merchantName: 'Guiche',
    merchantCity: 'SAO PAULO',
  }),
  qrCodeBase64: '',
  expirationDate: '2026-11-21T12:30:00.000Z',
}

/** The statuses before each one. */
const before: Record<TransactionStatus, TransactionStatus[]> = {
  PENDING: [],
  PIX_QRCODE_GENERATED: ['PENDING'],
  FAILED: ['PENDING', 'PIX_QRCODE_GENERATED'],
  PAID: ['PENDING', 'PIX_QRCODE_GENERATED'],
  PROCESSING_REFUND: ['PENDING', 'PIX_QRCODE_GENERATED', 'PAID'],
  REFUNDED: ['PENDING', 'PIX_QRCODE_GENERATED', 'PAID', 'PROCESSING_REFUND'],
  BLOCKED: ['PENDING', 'PIX_QRCODE_GENERATED', 'PAID'],
  PROCESSING_INFRACTION: ['PENDING', 'PIX_QRCODE_GENERATED', 'PAID', 'BLOCKED'],
  INFRACTION: ['PENDING', 'PIX_QRCODE_GENERATED', 'PAID', 'BLOCKED', 'PROCESSING_INFRACTION'],
}

const createdAt = Date.parse('2026-11-21T12:00:00.000Z')
/** When each status begins, in milliseconds after the creation. */
const startsMs = [0, 412, 95_000, 86_400_000, 172_800_000, 172_801_500]
/** Five minutes after the code has expired. */
const failsMs = 2_100_000

const payer = {
  type: 'PF' as const,
  name: 'Maria da Silva',
  document: '52998224725',
  bankAccount: { type: 'CHECKING', branch: '0001', number: '123456', digit: '7', ispb: '60701190' },
  pix: { key: 'maria@example.com', type: 'EMAIL' as const },
}

/** The transaction in each of its statuses. */
export function exampleTransaction(status: TransactionStatus) {
  const statuses = [...before[status], status]
  const dateOf = (index: number) =>
    new Date(createdAt + (statuses[index] === 'FAILED' ? failsMs : (startsMs[index] ?? 0))).toISOString()
  const isPaid = statuses.includes('PAID')
  return {
    id: exampleId,
    acquirer: 'simulator',
    amount: 2590,
    paymentMethod: 'PIX',
    webhookUrl: 'https://shop.example.com/webhooks/pix',
    externalCode: 'order-2026-0001',
    customer: {
      name: 'Maria da Silva',
      email: 'maria@example.com',
      document: { value: '52998224725', type: 'CPF' },
      mobilePhone: '(11) 98765-4321',
    },
    isInfoProduct: true,
    items: [{ title: 'Café torrado 500 g', unitPrice: 2590, quantity: 1 }],
    description: 'Pedido 2026-0001',
    metadata: { cart: '8812' },
    createdAt: dateOf(0),
    status,
    statusHistory: statuses.map((one, index) => ({
      status: one,
      date: dateOf(index),
      durationInMilliseconds:
        index + 1 < statuses.length ? Date.parse(dateOf(index + 1)) - Date.parse(dateOf(index)) : null,
    })),
    updatedAt: dateOf(statuses.length - 1),
    ...(isPaid && {
      amountPaid: 2590,
      ...examplePaidFields(status, dateOf),
      paymentDate: dateOf(2),
      endToEnd: 'E60701190202611211201a1B2c3D4e5F',
      payer,
      feeAmount: 55,
    }),
    infractionDate: statuses.includes('BLOCKED') ? dateOf(3) : null,
    pixResponse: examplePix,
    errorMessage: status === 'FAILED' ? 'PIX QR code expired' : null,
    ...(status === 'FAILED' && { failureCode: 'expired' }),
  }
}

function examplePaidFields(status: TransactionStatus, dateOf: (index: number) => string) {
  const isRefund = status === 'PROCESSING_REFUND' || status === 'REFUNDED'
  const isDispute = status === 'BLOCKED' || status === 'PROCESSING_INFRACTION' || status === 'INFRACTION'
  const refund = {
    id: '5d1c6b0a-9a57-4c0e-8d0a-0e5c3f1b2a77',
    amount: 2590,
    status: status === 'REFUNDED' ? ('REFUNDED' as const) : ('PROCESSING' as const),
    endToEndRefund: status === 'REFUNDED' ? 'D60701190202611221200a1B2c3D4e5F' : null,
    reason: 'Out of stock',
    createdAt: dateOf(3),
  }
  const isLost = status === 'INFRACTION'
  const dispute = {
    id: 'a2f0b7d4-6d3c-4f0e-9a44-1c7d5e2b8f10',
    amount: 2590,
    amountReturned: isLost ? 2590 : 0,
    amountBlocked: isLost ? 0 : 2590,
    status: isLost ? ('RETURNED' as const) : status === 'BLOCKED' ? ('OPEN' as const) : ('ACCEPTED' as const),
    reason: 'fraud',
    openedAt: dateOf(3),
    deadline: '2026-11-29T12:00:00.000Z',
    finishedAt: isLost ? dateOf(5) : null,
  }
  const returned = {
    endToEndRefund: 'D60701190202611231200a1B2c3D4e5F',
    amount: 2590,
    disputeId: dispute.id,
    date: dateOf(5),
  }
  return {
    amountRefunded: status === 'REFUNDED' ? 2590 : 0,
    refunds: isRefund ? [refund] : [],
    amountReturned: isLost ? 2590 : 0,
    disputes: isDispute ? [dispute] : [],
    returns: isLost ? [returned] : [],
  }
}

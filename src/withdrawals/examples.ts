import type { WithdrawalStatus } from './status.ts'

/** What the OpenAPI document shows. */

export const exampleId = 'c4a1d2e3-8f6b-4d57-a9c0-5b2e7f3d1a64'

/** The statuses before each one. */
const before: Record<WithdrawalStatus, WithdrawalStatus[]> = {
  PENDING: [],
  CANCELED: ['PENDING'],
  REJECTED: ['PENDING'],
  PROCESSING: ['PENDING'],
  PROCESSED: ['PENDING', 'PROCESSING'],
  FAILED: ['PENDING', 'PROCESSING'],
  REFUNDED: ['PENDING', 'PROCESSING', 'PROCESSED'],
}

const messages: Partial<Record<WithdrawalStatus, string>> = {
  REJECTED: 'The key belongs to another company',
  FAILED: 'The bank refused the payout: the key is not registered',
  REFUNDED: 'The receiver sent the money back',
}

const createdAt = Date.parse('2026-11-22T09:00:00.000Z')
/** When each status begins, in milliseconds after the creation. */
const startsMs = [0, 350, 2_100, 3_600_000]

/** The withdrawal in this status. */
export function exampleWithdrawal(status: WithdrawalStatus) {
  const statuses = [...before[status], status]
  const dateOf = (index: number) => new Date(createdAt + (startsMs[index] ?? 0)).toISOString()
  return {
    id: exampleId,
    acquirer: 'simulator',
    amount: 150_000,
    method: 'PIX',
    webhookUrl: 'https://shop.example.com/webhooks/pix',
    externalCode: 'payout-2026-0001',
    createdAt: dateOf(0),
    status,
    statusHistory: statuses.map((one, index) => ({
      status: one,
      date: dateOf(index),
      durationInMilliseconds:
        index + 1 < statuses.length ? Date.parse(dateOf(index + 1)) - Date.parse(dateOf(index)) : null,
    })),
    updatedAt: dateOf(statuses.length - 1),
    ...(statuses.includes('PROCESSED') && {
      amountWithdrawn: 150_000,
      processedDate: dateOf(2),
      endToEnd: 'E60701190202611220900b2C3d4E5f6G',
    }),
    errorMessage: messages[status] ?? null,
    pixKey: { key: '+5511987654321', type: 'PHONE' },
    feeAmount: 80,
  }
}

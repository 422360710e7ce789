import { expect } from 'vitest'
import { sql } from '../../src/db/sql.ts'
import type { TestService } from './service.ts'
import { eventually } from './webhooks.ts'

/** Acts as the payer's bank: disputes a payment, and returns the reference of the dispute. */
export async function dispute(service: TestService, endToEnd: string, amount?: number): Promise<string> {
  const answer = await service.call<{ reference: string }>('/sandbox/infraction', { body: { endToEnd, amount } })
  expect(answer.status, answer.text).toBe(200)
  return answer.body.reference
}

export async function decide(service: TestService, reference: string, decision: 'accept' | 'reject' | 'cancel') {
  const answer = await service.call(`/sandbox/infraction/${reference}/${decision}`, { method: 'POST' })
  expect(answer.status, answer.text).toBe(200)
}

/** Acts as the bank that returns a payment under MED without announcing it. */
export async function returnUnannounced(service: TestService, endToEnd: string, amount?: number): Promise<void> {
  const answer = await service.call('/sandbox/return', { body: { endToEnd, amount } })
  expect(answer.status, answer.text).toBe(200)
}

/** Polls the acquirer's disputes, as the schedule does, until a transaction has the status. */
export async function pollUntil(service: TestService, id: string, status: string): Promise<void> {
  let now = ''
  await eventually(
    async () => {
      await service.runJob('transactions.disputes')
      const { body } = await service.call<{ status: string }>(`/transaction/${id}`)
      now = body.status
      return now === status
    },
    () => `${id} is ${now}, not ${status}`,
  )
}

/** A transaction's disputes, by state and amount. */
export async function disputesOf(service: TestService, id: string): Promise<{ state: string; amount: number }[]> {
  return await service.db.query(sql`
    select state, amount from disputes where transaction_id = ${id} order by opened_at, amount`)
}

export type Disputed = {
  status: string
  amountRefunded: number
  amountReturned: number
  disputes: {
    id: string
    amount: number
    amountReturned: number
    amountBlocked: number
    status: string
    deadline: string | null
  }[]
  returns: { endToEndRefund: string | null; amount: number; disputeId: string | null }[]
}

/** A transaction with its disputed and returned amounts. */
export async function fetchDisputed(service: TestService, id: string): Promise<Disputed> {
  return (await service.call<Disputed>(`/transaction/${id}`)).body
}

import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Explanation, explainRecord } from '../../src/explain/explain.ts'
import { type RemoteBank, startRemoteBank } from '../support/payouts.ts'
import { payOne } from '../support/refunds.ts'
import { smallestTransaction } from '../support/service.ts'
import { eventually } from '../support/webhooks.ts'

let bank: RemoteBank

beforeAll(async () => {
  bank = await startRemoteBank()
})
afterAll(async () => await bank.stop())

async function explain(id: string): Promise<Explanation> {
  const { db, clock } = bank.service
  const explanation = await explainRecord({ db, clock }, id)
  if (!explanation) throw new Error(`There is no ${id}`)
  return explanation
}

async function untilSaid(id: string, part: string): Promise<Explanation> {
  let now: Explanation | null = null
  await eventually(
    async () => {
      now = await explain(id)
      return now.summary.includes(part)
    },
    () => `it says: ${now?.summary}`,
  )
  return await explain(id)
}

/** The requests to the acquirer, as the timeline shows them, without their durations. */
function requestsOf({ timeline }: Explanation): string[] {
  return timeline.filter(({ kind }) => kind === 'acquirer').map(({ what }) => what.replace(/, \d+ ms$/, ''))
}

it('explains a charge without an answer of the acquirer: the next query, and the outcome', async () => {
  bank.disturb(({ path }) => (path.startsWith('/cob/') ? 'time_out_after' : 'none'))
  const body = smallestTransaction({ amount: 2590 })
  const { status, body: answer } = await bank.service.call<{ transactionId: string }>('/transaction', { body })
  expect(status).toBe(500)
  const id = answer.transactionId
  const pending = await untilSaid(id, 'AcquirerUnavailable 504')
  expect(pending.summary).toBe(
    'PENDING: the acquirer did not answer (AcquirerUnavailable 504, at 15:00:00), so it is unknown whether the charge exists. The acquirer is asked again at 15:00:05. No webhook: it was created without a webhookUrl.',
  )
  expect(requestsOf(pending)).toEqual([
    'simulator was asked for a charge: no answer, so the outcome is unknown (AcquirerUnavailable 504)',
  ])

  bank.disturb(() => 'none')
  bank.service.clock.advance(5_000)
  await bank.service.runJob('transactions.check')
  const generated = await untilSaid(id, 'PIX_QRCODE_GENERATED: not paid yet')
  // The second request succeeded. A created charge is not recorded as an exchange: the status shows it.
  expect(requestsOf(generated)).toHaveLength(1)
})

it('explains a withdrawal of unknown outcome, and the answer once it has arrived', async () => {
  await payOne(bank.service, 10_000)
  bank.sendCallbacks(false)
  bank.disturb(({ method }) => (method === 'PUT' ? 'time_out_after' : 'none'))
  const pixKey = { key: 'a@example.com', type: 'EMAIL' }
  const { body } = await bank.service.call<{ id: string }>('/withdrawal', {
    body: { amount: 1000, method: 'PIX', pixKey, idempotencyKey: randomUUID() },
  })
  const open = await untilSaid(body.id, 'AcquirerUnavailable 504')
  expect(open.summary).toContain(
    'PROCESSING: the acquirer was asked to send R$ 10,00, and the outcome is not yet known (last: AcquirerUnavailable 504, at 15:00:05); the money stays reserved until it is known. The acquirer is asked again at ',
  )
  bank.disturb(() => 'none')
  bank.service.clock.advance(60_000)
  await bank.service.runJob('withdrawals.check')
  await untilSaid(body.id, 'PROCESSED: R$ 10,00 was sent at ')
  // Exchanges are recorded a moment later than outcomes.
  await eventually(async () => requestsOf(await explain(body.id)).length > 1)
  const done = await explain(body.id)
  expect(requestsOf(done)).toEqual([
    'simulator was asked to send: no answer, so the outcome is unknown (AcquirerUnavailable 504)',
    'simulator was asked about the payout: done',
  ])
  expect(JSON.stringify(done)).not.toContain('a@example.com')
})

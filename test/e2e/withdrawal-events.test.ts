import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { approveWithdrawal } from '../../src/withdrawals/approve.ts'
import { setWithdrawalLimits } from '../../src/withdrawals/limits.ts'
import { rejectWithdrawal } from '../../src/withdrawals/reject.ts'
import { addTestClient } from '../support/requests.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { eventually, startTestReceiver, type TestReceiver } from '../support/webhooks.ts'
import {
  act,
  expectLedgerConsistent,
  fetchWithdrawal,
  fund,
  merchantOf,
  untilWithdrawal,
  withdraw,
} from '../support/withdrawals.ts'

type EventItem = { type: string; recordId: string; sequence: number; delivery: string | null }

let service: TestService
let receiver: TestReceiver

beforeAll(async () => {
  service = await startTestService()
  receiver = await startTestReceiver()
  await fund(service, 50_000_000)
  await setWithdrawalLimits(service, {
    by: { actor: 'cli:test' },
    merchantId: await merchantOf(service),
    approvalAbove: 5_000,
  })
})
afterEach(async () => await expectLedgerConsistent(service))
afterAll(async () => {
  await receiver.stop()
  await service.stop()
})

const eventsOf = (id: string) => receiver.received.filter(({ event }) => event.data.id === id).map(({ event }) => event)
async function untilEvents(id: string, ...types: string[]) {
  await eventually(
    () => eventsOf(id).length >= types.length,
    () => `${eventsOf(id).length} events`,
  )
  expect(eventsOf(id).map(({ type, data }) => [type, data.sequence])).toEqual(
    types.map((type, index) => [`withdrawal.${type}`, index + 1]),
  )
  return eventsOf(id)
}
const start = async (more: Record<string, unknown>) =>
  await withdraw(service, { webhookUrl: receiver.url, metadata: { batch: 1 }, externalCode: 'payout-0001', ...more })

describe('a withdrawal sends events', () => {
  it('for each change, with what GET answers then', async () => {
    const id = await start({})
    const shown = await untilWithdrawal(service, id, 'PROCESSED')
    const [processing, processed] = await untilEvents(id, 'processing', 'processed')
    expect(processed?.data).toEqual({ ...shown, sequence: 2 })
    const { status, statusHistory } = { ...shown, ...processing?.data }
    expect(status).toBe('PROCESSING')
    expect(statusHistory.map((entry) => entry.status)).toEqual(['PENDING', 'PROCESSING'])
    for (const member of ['endToEnd', 'processedDate', 'amountWithdrawn', 'receiver', 'payer'])
      expect(processing?.data).not.toHaveProperty(member)

    const back = await service.call(`/sandbox/withdrawal/${id}/return`, { body: {} })
    expect(back.status, back.text).toBe(200)
    const refunded = await untilWithdrawal(service, id, 'REFUNDED')
    const events = await untilEvents(id, 'processing', 'processed', 'refunded')
    expect(events[2]?.data).toEqual({ ...refunded, sequence: 3 })
  })

  it('when it failed, was canceled or rejected', async () => {
    // The simulated bank rejects this amount.
    const failed = await start({ amount: 900_005 })
    await approveWithdrawal(service, { id: failed, by: { actor: 'cli:maria' } })
    const shown = await untilWithdrawal(service, failed, 'FAILED')
    const events = await untilEvents(failed, 'processing', 'failed')
    expect(events[1]?.data).toEqual({ ...shown, sequence: 2 })

    const [canceled, rejected] = [await start({ amount: 6_000 }), await start({ amount: 7_000 })]
    await act(service, canceled, 'cancel')
    await rejectWithdrawal(
      { ...service, wakeDeliveries: () => {} },
      { id: rejected, reason: 'No', by: { actor: 'cli:maria' } },
    )
    for (const [id, type] of [
      [canceled, 'canceled'],
      [rejected, 'rejected'],
    ] as const) {
      const [event] = await untilEvents(id, type)
      expect(event?.data).toEqual({ ...(await fetchWithdrawal(service, id)), sequence: 1 })
      expect(event?.data).not.toHaveProperty('hold')
    }
  })

  it('to nobody without a webhook, but lists its events', async () => {
    const id = await withdraw(service)
    await untilWithdrawal(service, id, 'PROCESSED')
    const list = async (token?: string) =>
      await service.call<{ total: number; data: EventItem[] }>(`/withdrawal/${id}/event`, token ? { token } : {})
    const { body } = await list()
    expect(body.data.map(({ type, sequence, delivery }) => [type, sequence, delivery])).toEqual(
      expect.arrayContaining([
        ['withdrawal.processing', 1, null],
        ['withdrawal.processed', 2, null],
      ]),
    )
    expect(body.total).toBe(2)
    expect((await list((await addTestClient(service)).token)).status).toBe(404)
    const all = await service.call<{ data: EventItem[] }>('/event?perPage=100')
    expect(all.body.data.filter(({ recordId }) => recordId === id)).toHaveLength(2)
  })
})

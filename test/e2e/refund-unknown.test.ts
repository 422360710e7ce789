import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Disturbance } from '../../simulator/disturb.ts'
import { decide, dispute, pollUntil } from '../support/disputes.ts'
import { lengthOf } from '../support/random.ts'
import {
  type FaultyNetwork,
  fetchRefundable,
  payOne,
  refund,
  requestRefund,
  returnsOf,
  startOnFaultyNetwork,
} from '../support/refunds.ts'
import { eventually } from '../support/webhooks.ts'
import { balancesOf, expectLedgerConsistent, freezeAllPayouts, releaseAllPayouts } from '../support/withdrawals.ts'

let network: FaultyNetwork
beforeAll(async () => {
  network = await startOnFaultyNetwork()
})
afterEach(async () => await expectLedgerConsistent(network.service))
afterAll(async () => await network.stop())

const put = ['PUT', '/devolucao/'] as const
const get = ['GET', '/devolucao/'] as const

/** Advances the clock and runs the check of open refunds, until the condition holds. */
async function checkUntil(condition: () => boolean | Promise<boolean>): Promise<void> {
  await eventually(async () => {
    network.service.clock.advance(60_000)
    await network.service.runJob('transactions.check-refunds')
    await sleep(40)
    return await condition()
  })
}

async function checkUntilRefunded(id: string): Promise<void> {
  await checkUntil(async () => (await fetchRefundable(network.service, id)).status === 'REFUNDED')
}

/** Requests a refund, and returns after its job has sent it to the acquirer for the first time. */
async function sendOnce(id: string): Promise<string> {
  const before = network.countRequests(...put)
  const refundId = await refund(network.service, id)
  await eventually(() => network.countRequests(...put) > before)
  return refundId
}

describe('a refund whose outcome is unknown', () => {
  it('because of a lost answer stays in process, is found, and is made once', async () => {
    const { service, bank } = network
    const { id, endToEnd } = await payOne(service)
    network.disturb(...put, 'time_out_after')
    network.disturb(...get, ...Array.from({ length: 200 }, (_, index) => (index % 2 ? 'time_out_before' : 'error_500')))
    const before = await balancesOf(service)
    await sendOnce(id)
    await checkUntil(() => network.countRequests(...get) >= 2)
    expect(await fetchRefundable(service, id)).toMatchObject({ status: 'PROCESSING_REFUND', amountRefunded: 0 })
    expect(await balancesOf(service)).toMatchObject({
      available: before.available - 1000,
      reserved: before.reserved + 1000,
    })
    network.disturb(...get)
    await checkUntilRefunded(id)
    expect(await returnsOf(bank, endToEnd)).toHaveLength(1)
  })

  it('because of a lost request is sent again under the same id', async () => {
    const { service, bank } = network
    const { id, endToEnd } = await payOne(service)
    network.disturb(...put, 'time_out_before', 'error_500')
    const refundId = await sendOnce(id)
    await checkUntilRefunded(id)
    expect(await returnsOf(bank, endToEnd)).toEqual([
      { id: refundId.replaceAll('-', ''), amount: 1000, nature: 'ORIGINAL' },
    ])
  })

  it('because of a lost request is not sent again before a dispute of its payment is decided', async () => {
    const { service, bank } = network
    const [kept, returned] = [await payOne(service), await payOne(service)]
    network.disturb(...put, 'time_out_before', 'time_out_before')
    const refundId = await sendOnce(kept.id)
    await sendOnce(returned.id)
    const references: string[] = []
    for (const { id, endToEnd } of [kept, returned]) {
      references.push(await dispute(service, endToEnd))
      await pollUntil(service, id, 'BLOCKED')
    }
    const [requested, queried] = [network.countRequests(...put), network.countRequests(...get)]
    await checkUntil(() => network.countRequests(...get) >= queried + 6)
    expect(network.countRequests(...put)).toBe(requested)
    await decide(service, references[0] ?? '', 'reject')
    await pollUntil(service, kept.id, 'PROCESSING_REFUND')
    await checkUntilRefunded(kept.id)
    expect(await returnsOf(bank, kept.endToEnd)).toMatchObject([{ id: refundId.replaceAll('-', '') }])
    await decide(service, references[1] ?? '', 'accept')
    await checkUntil(async () => {
      await service.runJob('transactions.disputes')
      return (await fetchRefundable(service, returned.id)).status === 'INFRACTION'
    })
    expect(await fetchRefundable(service, returned.id)).toMatchObject({ refunds: [{ status: 'FAILED' }] })
    expect(await returnsOf(bank, returned.endToEnd)).toMatchObject([{ nature: expect.stringMatching(/^MED/) }])
  })

  it('is never made twice, however many answers are lost', async () => {
    const { service, bank } = network
    const count = lengthOf({ short: 10, long: 30 })
    const paid = await Promise.all(Array.from({ length: count }, async () => await payOne(service)))
    const lost = Array.from(
      { length: 1.5 * count },
      (_, n): Disturbance => (n % 3 === 0 ? 'time_out_before' : 'time_out_after'),
    )
    network.disturb(...put, ...lost)
    network.disturb(...get, ...Array.from({ length: 0.6 * count }, () => 'time_out_before' as const))
    for (const { id } of paid) await refund(service, id)
    await checkUntil(async () => {
      const now = await Promise.all(paid.map(async ({ id }) => (await fetchRefundable(service, id)).status))
      return now.every((status) => status === 'REFUNDED')
    })
    for (const { endToEnd } of paid) expect(await returnsOf(bank, endToEnd)).toHaveLength(1)
  })
})

describe('during a payout freeze', () => {
  it('no refund is accepted, no idempotency key is used, and a repeated request has its first answer', async () => {
    const [one, other] = [await payOne(network.service), await payOne(network.service)]
    const body = { idempotencyKey: randomUUID() }
    const first = await requestRefund(network.service, one.id, body)
    await checkUntilRefunded(one.id)
    await freezeAllPayouts(network.service)
    const key = { idempotencyKey: randomUUID() }
    const answer = await requestRefund(network.service, other.id, key)
    expect([answer.status, answer.body.code, answer.headers.get('retry-after')]).toEqual([
      503,
      'payouts_stopped',
      '300',
    ])
    expect((await requestRefund(network.service, one.id, body)).text).toBe(first.text)
    await releaseAllPayouts(network.service)
    expect((await requestRefund(network.service, other.id, key)).status).toBe(201)
    await checkUntilRefunded(other.id)
  })

  it('an accepted refund waits, and is sent after the freeze', async () => {
    const { service, bank } = network
    const { id, endToEnd } = await payOne(service)
    network.disturb(...put, 'time_out_before')
    await sendOnce(id)
    await freezeAllPayouts(service)
    const [requested, queried] = [network.countRequests(...put), network.countRequests(...get)]
    await checkUntil(() => network.countRequests(...get) >= queried + 3)
    expect(network.countRequests(...put)).toBe(requested)
    expect(await returnsOf(bank, endToEnd)).toEqual([])
    expect((await fetchRefundable(service, id)).status).toBe('PROCESSING_REFUND')
    await releaseAllPayouts(service)
    await checkUntilRefunded(id)
    expect(await returnsOf(bank, endToEnd)).toHaveLength(1)
  })

  it('a refund that was sent before is posted anyway', async () => {
    const { service } = network
    const { id } = await payOne(service)
    network.disturb(...put, 'time_out_after')
    await sendOnce(id)
    await freezeAllPayouts(service)
    await checkUntilRefunded(id)
    await releaseAllPayouts(service)
  })
})

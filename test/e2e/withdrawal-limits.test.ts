import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { defaultLimits, type Limits, setWithdrawalLimits } from '../../src/withdrawals/limits.ts'
import { type Answer, startTestService, type TestService } from '../support/service.ts'
import { eventually } from '../support/webhooks.ts'
import {
  act,
  expectLedgerConsistent,
  fund,
  merchantOf,
  refusal,
  requestWithdrawal,
  untilWithdrawal,
  withRenewedToken,
} from '../support/withdrawals.ts'

let service: TestService
let merchantId: string
/** Noon in São Paulo, which is three hours behind UTC. Each test uses another day, so that the sums are separate. */
let noon = Date.parse('2026-03-02T15:00:00.000Z')
const hour = 60 * 60_000

beforeAll(async () => {
  service = withRenewedToken(await startTestService())
  merchantId = await merchantOf(service)
  await fund(service, 500_000_000)
})
beforeEach(async () => {
  noon += 72 * hour
  service.clock.set(new Date(noon))
  await limit(defaultLimits)
})
afterEach(async () => await expectLedgerConsistent(service))
afterAll(async () => await service.stop())

const limit = async (changed: Partial<Limits>) =>
  await setWithdrawalLimits(service, { by: { actor: 'cli:test' }, merchantId, ...changed })
const request = async (more: Record<string, unknown> = {}) => await requestWithdrawal(service, more)
const at = (hours: number, ms = 0) => service.clock.set(new Date(noon + hours * hour + ms))

async function expectAccepted(more: Record<string, unknown>): Promise<string> {
  const answer = await request(more)
  expect([answer.status, answer.body.hold], answer.text).toEqual([201, undefined])
  return answer.body.id
}

function expectRefused(answer: Answer<unknown>, ...codes: string[]): void {
  expect(answer.status, answer.text).toBe(422)
  expect(refusal(answer)).toEqual(['withdrawal_not_possible', ...codes.map((code) => `amount ${code}`)])
}

describe('the limit', () => {
  it('of one withdrawal is exact to the cent, and a withdrawal above it is not stored', async () => {
    await limit({ perWithdrawal: 5_000 })
    const before = await service.call<{ total: number }>('/withdrawal')
    expectRefused(await request({ amount: 5_001 }), 'limit_per_withdrawal')
    expect((await service.call<{ total: number }>('/withdrawal')).body.total).toBe(before.body.total)
    await expectAccepted({ amount: 5_000 })
    await limit({ perWithdrawal: null })
    await expectAccepted({ amount: 5_001 })
  })

  it('of a day counts what was requested on it', async () => {
    await limit({ perDay: 10_000 })
    await expectAccepted({ amount: 6_000 })
    expectRefused(await request({ amount: 4_001 }), 'limit_per_day')
    await expectAccepted({ amount: 4_000 })
    expectRefused(await request({ amount: 10 }), 'limit_per_day')
  })

  it('does not count what was canceled or failed', async () => {
    await limit({ perDay: 1_000_000 })
    // An amount that the simulated bank rejects.
    const failed = await expectAccepted({ amount: 900_005 })
    expectRefused(await request({ amount: 900_000 }), 'limit_per_day')
    await untilWithdrawal(service, failed, 'FAILED')
    await limit({ approvalAbove: 0 })
    const pending = await request({ amount: 900_000 })
    expectRefused(await request({ amount: 900_000 }), 'limit_per_day')
    expect((await act(service, pending.body.id, 'cancel')).body.status).toBe('CANCELED')
    await limit({ approvalAbove: null })
    await expectAccepted({ amount: 900_000 })
  })

  it('names every broken rule, and what is left', async () => {
    await limit({ perWithdrawal: 1_000, perDay: 1_500 })
    await expectAccepted({ amount: 1_000 })
    const answer = await request({ amount: 1_001 })
    expectRefused(answer, 'limit_per_withdrawal', 'limit_per_day')
    expect(answer.text).toContain('500 cents that are left of the limit of 1500 cents for this day')
  })

  it('is the day’s from 06:00 and the night’s from 20:00, in São Paulo', async () => {
    await limit({ perDay: 2_000, perNight: 1_000 })
    at(-6, -1)
    expectRefused(await request({ amount: 1_001 }), 'limit_per_night')
    await expectAccepted({ amount: 1_000 })
    at(-6)
    await expectAccepted({ amount: 2_000 })
    at(8, -1)
    expectRefused(await request({ amount: 10 }), 'limit_per_day')
    at(8)
    await expectAccepted({ amount: 600 })
    // After midnight it is still the same night.
    at(13)
    expectRefused(await request({ amount: 401 }), 'limit_per_night')
    await expectAccepted({ amount: 400 })
    at(18)
    await expectAccepted({ amount: 2_000 })
  })

  it('accepts only as many concurrent withdrawals as fit into it', async () => {
    await limit({ perDay: 5_000 })
    const answers = await Promise.all(Array.from({ length: 16 }, async () => await request({ amount: 1_000 })))
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(5)
    for (const answer of answers.filter(({ status }) => status !== 201)) expectRefused(answer, 'limit_per_day')
  })

  it('keeps the limits that are not named when others are set', async () => {
    await limit({ perWithdrawal: 1, perNight: 2 })
    expect(await limit({ perNight: null, duplicateWindowSeconds: 0 })).toEqual({
      ...defaultLimits,
      perWithdrawal: 1,
      perNight: null,
      duplicateWindowSeconds: 0,
    })
  })
})

describe('the guard against duplicates', () => {
  const pair = async (afterMs: number, change: Record<string, unknown> = {}) => {
    const pixKey = { key: randomUUID(), type: 'EVP' }
    await expectAccepted({ pixKey })
    service.clock.advance(afterMs)
    return await request({ pixKey, ...change })
  }

  it('keeps the same amount to the same key pending review under another idempotency key', async () => {
    const { status, body } = await pair(1_000)
    expect([status, body]).toEqual([
      201,
      { id: body.id, amount: 1_000, type: 'WITHDRAWAL', status: 'PENDING', hold: 'duplicate' },
    ])
    const shown = (await service.call(`/withdrawal/${body.id}`)).body
    expect(shown).toMatchObject({ status: 'PENDING', hold: 'duplicate' })
    const pending = async () => (await service.call<{ data: unknown[] }>('/withdrawal?status=PENDING')).body.data
    await eventually(
      async () => (await pending()).length === 1,
      () => 'the first withdrawal is still pending',
    )
    expect(await pending()).toEqual([shown])
    service.clock.advance(hour)
    await service.runJob('withdrawals.check')
    await new Promise((done) => setTimeout(done, 200))
    expect((await service.call(`/withdrawal/${body.id}`)).body).toEqual(shown)
    expect((await act(service, body.id, 'cancel')).body).toMatchObject({ status: 'CANCELED' })
  })

  it('applies until its window ends, and not from then on', async () => {
    expect((await pair(600_000 - 1)).body.hold).toBe('duplicate')
    expect((await pair(600_000)).body.hold).toBeUndefined()
    await limit({ duplicateWindowSeconds: 60 })
    expect((await pair(60_000 - 1)).body.hold).toBe('duplicate')
    expect((await pair(60_000)).body.hold).toBeUndefined()
    await limit({ duplicateWindowSeconds: 0 })
    expect((await pair(0)).body.hold).toBeUndefined()
  })

  it('recognizes a key in another notation, and ignores other amounts and keys', async () => {
    await expectAccepted({ pixKey: { key: '529.982.247-25', type: 'CPF' } })
    expect((await request({ pixKey: { key: '52998224725', type: 'CPF' } })).body.hold).toBe('duplicate')
    expect((await pair(0, { amount: 1_001 })).body.hold).toBeUndefined()
    expect((await pair(0, { pixKey: { key: randomUUID(), type: 'EVP' } })).body.hold).toBeUndefined()
  })

  it('ignores an earlier withdrawal that failed', async () => {
    const pixKey = { key: randomUUID(), type: 'EVP' }
    // The simulated bank rejects this amount.
    const failed = await expectAccepted({ pixKey, amount: 900_003 })
    await untilWithdrawal(service, failed, 'FAILED')
    await expectAccepted({ pixKey, amount: 900_003 })
  })

  it('keeps all but one of many concurrent requests pending review', async () => {
    const pixKey = { key: randomUUID(), type: 'EVP' }
    const answers = await Promise.all(Array.from({ length: 8 }, async () => await request({ pixKey })))
    expect(answers.map(({ body }) => body.hold ?? 'none').sort()).toEqual([...Array(7).fill('duplicate'), 'none'])
  })

  it('releases what its merchant confirms, answers a repeated confirmation, and refuses to confirm what was not pending review', async () => {
    const pending = await pair(1_000)
    const body = { pixKey: { key: randomUUID(), type: 'EVP' } }
    const confirmed = await act(service, pending.body.id, 'confirm')
    expect(confirmed.status).toBe(200)
    expect(confirmed.body).not.toHaveProperty('hold')
    await untilWithdrawal(service, pending.body.id, 'PROCESSED')
    expect((await act(service, pending.body.id, 'confirm')).body.status).toBe('PROCESSED')
    const accepted = await expectAccepted(body)
    expect(refusal(await act(service, accepted, 'confirm'))).toEqual([
      'withdrawal_not_possible',
      'hold not_pending_review',
    ])
  })

  it('answers a repeated key as the first time, with the hold, even after the confirmation', async () => {
    const pixKey = { key: randomUUID(), type: 'EVP' }
    await expectAccepted({ pixKey })
    const again = { pixKey, idempotencyKey: randomUUID() }
    const first = await request(again)
    expect(first.body.hold).toBe('duplicate')
    await act(service, first.body.id, 'confirm')
    await untilWithdrawal(service, first.body.id, 'PROCESSED')
    expect((await request(again)).text).toBe(first.text)
  })

  it('does not let a canceled withdrawal be confirmed', async () => {
    const pending = await pair(1_000)
    await act(service, pending.body.id, 'cancel')
    const refused = await act(service, pending.body.id, 'confirm')
    expect([refused.status, ...refusal(refused)]).toEqual([422, 'withdrawal_not_possible', 'status not_pending'])
  })
})

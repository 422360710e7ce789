import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { sql } from '../../src/db/sql.ts'
import { newEndToEndId } from '../../src/pix/ids.ts'
import { approveProposal } from '../../src/proposals/decide.ts'
import { approveWithdrawal } from '../../src/withdrawals/approve.ts'
import { setWithdrawalLimits } from '../../src/withdrawals/limits.ts'
import { rejectWithdrawal } from '../../src/withdrawals/reject.ts'
import { proposeSettlement, settlementProposal } from '../../src/withdrawals/settle-by-hand.ts'
import { reviewAfterLostCommits } from '../../src/withdrawals/store.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { inviteUser, openBrowser, password } from '../support/users.ts'
import { eventually } from '../support/webhooks.ts'
import {
  act,
  balanceChanges,
  countPayouts,
  expectLedgerConsistent,
  fetchWithdrawal,
  fund,
  merchantOf,
  refusal,
  requestWithdrawal,
  transfersOf,
  untilWithdrawal,
  withdraw,
  withdrawalBody,
} from '../support/withdrawals.ts'

let service: TestService

beforeAll(async () => {
  service = await startTestService()
  await fund(service, 50_000_000)
  await setWithdrawalLimits(service, {
    by: { actor: 'cli:test' },
    merchantId: await merchantOf(service),
    approvalAbove: 10_000,
  })
})
afterEach(async () => await expectLedgerConsistent(service))
afterAll(async () => await service.stop())

const approve = async (id: string) => await approveWithdrawal(service, { id, by: { actor: 'cli:maria' } })
const reject = async (id: string) =>
  await rejectWithdrawal(
    { ...service, wakeDeliveries: () => {} },
    { id, reason: 'Ask the shop first', by: { actor: 'cli:maria' } },
  )
/** Requests a withdrawal twice, and returns the second, a duplicate. Above the threshold it needs approval too. */
async function requestTwice(amount: number): Promise<string> {
  const pixKey = { key: randomUUID(), type: 'EVP' }
  const first = await withdraw(service, { amount, pixKey })
  const second = await requestWithdrawal(service, { amount, pixKey })
  expect(second.body.hold).toBe('duplicate')
  if (amount > 10_000) await act(service, first, 'cancel')
  return second.body.id
}

it('a withdrawal is pending review above the threshold, and not at it', async () => {
  await untilWithdrawal(service, await withdraw(service, { amount: 10_000 }), 'PROCESSED')
  const pending = await requestWithdrawal(service, { amount: 10_001 })
  expect([pending.status, pending.body.hold, pending.body.status]).toEqual([201, 'approval', 'PENDING'])
  expect(await fetchWithdrawal(service, pending.body.id)).toMatchObject({ status: 'PENDING', hold: 'approval' })
  expect(await transfersOf(service, pending.body.id)).toEqual(['withdrawal_reserved available>reserved 10001'])
  const refused = await act(service, pending.body.id, 'confirm')
  expect([refused.status, ...refusal(refused)]).toEqual([422, 'withdrawal_not_possible', 'hold not_pending_review'])
  await approve(pending.body.id)
  expect(await untilWithdrawal(service, pending.body.id, 'PROCESSED')).not.toHaveProperty('hold')
})

it('a withdrawal names the threshold that it exceeds, also when another one counts for the operator’s staff', async () => {
  const limits = { by: { actor: 'cli:test' }, merchantId: await merchantOf(service) }
  await setWithdrawalLimits(service, { ...limits, operatorApprovalAbove: 20_000 })
  const admin = await openBrowser(service, { email: await inviteUser(service, { role: 'admin' }), password })
  const headers = { 'x-guiche-merchant': service.sandbox.clientId }
  const requestOf = async (amount: number) => {
    const body = withdrawalBody({ amount })
    const { id } = (await admin.call<{ id: string }>('/withdrawal', { method: 'POST', body, headers })).body
    return (await admin.call(`/dashboard/api/withdrawal/${id}`)).body
  }
  expect(await requestOf(15_000)).toMatchObject({ hold: 'approval', isOperators: true, approvalAbove: 10_000 })
  await setWithdrawalLimits(service, { ...limits, operatorApprovalAbove: 5_000 })
  expect(await requestOf(7_000)).toMatchObject({ hold: 'approval', isOperators: true, approvalAbove: 5_000 })
  expect(await requestOf(15_000)).toMatchObject({ hold: 'approval', approvalAbove: 5_000 })
  await setWithdrawalLimits(service, { ...limits, operatorApprovalAbove: 0 })
})

it('a withdrawal is rejected with a reason that the merchant reads, and amount and fee are released', async () => {
  const money = await balanceChanges(service, async () => {
    const id = await withdraw(service, { amount: 20_000 })
    await reject(id)
    expect(await fetchWithdrawal(service, id)).toMatchObject({
      status: 'REJECTED',
      errorMessage: 'Ask the shop first',
      statusHistory: [{ status: 'PENDING' }, { status: 'REJECTED', durationInMilliseconds: null }],
    })
    await expect(approve(id)).rejects.toMatchObject({ code: 'withdrawal_not_possible' })
    await expect(reject(id)).rejects.toMatchObject({ code: 'withdrawal_not_possible' })
    expect(refusal(await act(service, id, 'cancel'))).toEqual(['withdrawal_not_possible', 'status not_pending'])
  })
  expect(money).toEqual({})
})

it('a withdrawal needs both the merchant and the operator when it looks like a duplicate and is above the threshold', async () => {
  const id = await requestTwice(30_000)
  expect((await act(service, id, 'confirm')).body).toMatchObject({ status: 'PENDING', hold: 'approval' })
  expect((await act(service, id, 'confirm')).body).toMatchObject({ status: 'PENDING', hold: 'approval' })
  await approve(id)
  await untilWithdrawal(service, id, 'PROCESSED')
})

it.each([9_000, 31_000])('a withdrawal is approved by the operator alone, duplicate or not: %i', async (amount) => {
  const id = await requestTwice(amount)
  await approve(id)
  await untilWithdrawal(service, id, 'PROCESSED')
  await expect(approve(id)).rejects.toMatchObject({ code: 'withdrawal_not_possible' })
})

it('a withdrawal is not approved when it is not pending review, nor when it does not exist', async () => {
  const id = await withdraw(service)
  await untilWithdrawal(service, id, 'PROCESSED')
  for (const decide of [approve, reject]) {
    await expect(decide(id)).rejects.toMatchObject({ code: 'withdrawal_not_possible' })
    await expect(decide(randomUUID())).rejects.toMatchObject({ code: 'not_found' })
  }
})

it('a withdrawal that may have been sent before the database lost commits is left to the operator', async () => {
  // The approval may be among the commits that were lost.
  const id = await withdraw(service, { amount: 20_000 })
  const money = await balanceChanges(service, async () => {
    const support = await openBrowser(service, { email: await inviteUser(service, { role: 'support' }), password })
    const shown = async () => (await support.call(`/dashboard/api/withdrawal/${id}`)).body
    expect(await shown()).toMatchObject({ hold: 'approval', mayBeSent: false })
    await service.db.transaction(async (tx) => await reviewAfterLostCommits(tx, service.clock.now()))
    expect(await shown()).toMatchObject({ hold: 'approval', mayBeSent: true })
    expect(refusal(await act(service, id, 'cancel'))).toEqual(['withdrawal_not_possible', 'status maybe_sent'])
  })
  expect(money).toEqual({})
  await approve(id)
  await untilWithdrawal(service, id, 'PROCESSED')
  // Its PSP can be asked about it as usual.
  expect(await service.db.query(sql`select commits_lost_at from withdrawals where id = ${id}`)).toEqual([
    { commits_lost_at: null },
  ])
})

it('two persons enter that a PENDING withdrawal was sent before the database lost commits', async () => {
  const id = await withdraw(service, { amount: 20_000 })
  const propose = async (endToEndId: string | null) =>
    await proposeSettlement(service, { id, seen: { endToEndId, reason: 'in the statement' }, by: { actor: 'cli:ana' } })
  const carryOut = async (proposalId: string) =>
    await approveProposal({ ...service, wakeDeliveries: () => {} }, settlementProposal, {
      id: proposalId,
      by: { actor: 'cli:rui' },
    })
  const endToEndId = newEndToEndId({ ispb: '00416968', at: service.clock.now() })
  await expect(propose(endToEndId)).rejects.toThrow(/is PENDING, and only the outcome of a withdrawal that was/)
  await service.db.transaction(async (tx) => await reviewAfterLostCommits(tx, service.clock.now()))
  await expect(propose(null)).rejects.toThrow(/if nothing was sent, approve or reject it/)
  const money = await balanceChanges(service, async () => {
    const { id: proposalId } = await propose(endToEndId)
    expect((await fetchWithdrawal(service, id)).status).toBe('PENDING')
    await carryOut(proposalId)
  })
  expect(money).toEqual({ reserved: -20_000, acquirer: 20_000 })
  const sent = await fetchWithdrawal(service, id)
  expect(sent).toMatchObject({ status: 'PROCESSED', amountWithdrawn: 20_000, endToEnd: endToEndId })
  expect(sent.statusHistory.map(({ status }) => status)).toEqual(['PENDING', 'PROCESSING', 'PROCESSED'])
  expect(await countPayouts(service.db, id)).toBe(0)
  await expect(approve(id)).rejects.toThrow(/is PROCESSED/)
})

it('a withdrawal ends in exactly one way when it is approved, rejected and canceled concurrently', async () => {
  for (let round = 0; round < 10; round++) {
    const id = await withdraw(service, { amount: 40_000 + round })
    const attempts = [approve(id), reject(id), act(service, id, 'cancel')] as const
    const [approval, rejection, cancel] = await Promise.allSettled(attempts)
    await eventually(async () =>
      ['PROCESSED', 'REJECTED', 'CANCELED'].includes((await fetchWithdrawal(service, id)).status),
    )
    const { status } = await fetchWithdrawal(service, id)
    expect(rejection.status === 'fulfilled').toBe(status === 'REJECTED')
    expect(cancel).toMatchObject({ value: { status: status === 'CANCELED' ? 200 : 422 } })
    if (status === 'PROCESSED') expect(approval.status).toBe('fulfilled')
    expect(await countPayouts(service.db, id)).toBe(status === 'PROCESSED' ? 1 : 0)
  }
})

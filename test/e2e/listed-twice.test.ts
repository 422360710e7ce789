import { afterAll, beforeAll, expect, it } from 'vitest'
import { sql } from '../../src/db/sql.ts'
import { toTxid } from '../../src/pix/ids.ts'
import { checkReturns } from '../../src/transactions/dispute/poll.ts'
import { type SettleDeps, settleTransaction } from '../../src/transactions/settle.ts'
import { settleDepsWith } from '../support/acquirer.ts'
import { charge, openQuietBank, type QuietBank } from '../support/payments.ts'
import { fetchRefundable, forgeReturn, payOne } from '../support/refunds.ts'
import { addTestClient, type TestClient } from '../support/requests.ts'
import { smallestTransaction, startTestService, type TestService } from '../support/service.ts'
import { suspendJob } from '../support/webhooks.ts'
import { expectLedgerConsistent, merchantOf } from '../support/withdrawals.ts'

let service: TestService
let bank: QuietBank
let other: TestClient
let merchantId: string
beforeAll(async () => {
  service = await startTestService()
  // Only the tests settle.
  await suspendJob(service.db, 'transactions.poll')
  bank = await openQuietBank(service)
  other = await addTestClient(service)
  merchantId = await merchantOf(service)
})
afterAll(async () => {
  await bank.close()
  await service.stop()
})

/** A PSP that omits the txid within a charge, and shows the first charge's payment in each of these charges. */
function showingInAll(ids: string[]): SettleDeps {
  const [first = '', ...others] = ids.map(toTxid)
  return settleDepsWith(service, async (request) => {
    const txid = others.find((one) => request.path.endsWith(`/cob/${one}`))
    const answer = await bank.handle(request)
    if (txid === undefined && !request.path.endsWith(`/cob/${first}`)) return answer
    const paid = await bank.handle({ ...request, path: request.path.replace(/[^/]+$/, first) })
    const pix = (JSON.parse(paid.body).pix as object[]).map((one) => ({ ...one, txid: undefined }))
    return { ...answer, body: JSON.stringify({ ...JSON.parse(answer.body), pix }) }
  })
}

async function chargeOfOther(): Promise<string> {
  const { body } = await service.call<{ id: string }>('/transaction', {
    body: smallestTransaction({ amount: 1000 }),
    token: other.token,
  })
  return body.id
}

async function countPaidBy(endToEndId: string): Promise<number> {
  const rows = await service.db.query(sql`select from transactions where end_to_end = ${endToEndId}`)
  return rows.length
}

it('a payment that a PSP shows in the charges of two merchants pays one, whichever is settled first', async () => {
  for (const isOwnFirst of [true, false]) {
    const { id, uri } = await charge(service, { amount: 1000 })
    const theirs = await chargeOfOther()
    const { endToEndId } = await bank.payQuietly(uri)
    const deps = showingInAll([id, theirs])
    const keys = [
      { merchantId, id },
      { merchantId: other.merchantId, id: theirs },
    ]
    const outcomes: string[] = []
    for (const key of isOwnFirst ? keys : keys.toReversed()) outcomes.push(await settleTransaction(deps, key))
    expect(outcomes).toEqual(['settled', 'gone'])
    expect(await countPaidBy(endToEndId)).toBe(1)
  }
  await expectLedgerConsistent(service)
})

it('a payment that a PSP shows in the charges of two merchants pays one when both are settled concurrently', async () => {
  for (let round = 0; round < 5; round++) {
    const { id, uri } = await charge(service, { amount: 1000 })
    const theirs = await chargeOfOther()
    const { endToEndId } = await bank.payQuietly(uri)
    const outcomes = await Promise.all(
      [
        { merchantId, id },
        { merchantId: other.merchantId, id: theirs },
      ].map(async (key) => await settleTransaction(showingInAll([id, theirs]), key)),
    )
    expect(outcomes.sort()).toEqual(['gone', 'settled'])
    expect(await countPaidBy(endToEndId)).toBe(1)
  }
  await expectLedgerConsistent(service)
})

it('a return under MED that a PSP lists twice in one answer is posted once', async () => {
  const { id, endToEnd } = await payOne(service)
  await forgeReturn(service, endToEnd, 400)
  const deps = settleDepsWith(service, async (request) => {
    const answer = await bank.handle(request)
    if (!request.path.endsWith(`/pix/${endToEnd}`)) return answer
    const body = JSON.parse(answer.body)
    return { ...answer, body: JSON.stringify({ ...body, devolucoes: [...body.devolucoes, ...body.devolucoes] }) }
  })
  await checkReturns(deps, { merchantId, id })
  expect(await fetchRefundable(service, id)).toMatchObject({ status: 'PAID', amountReturned: 400 })
  await expectLedgerConsistent(service)
})

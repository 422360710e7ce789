import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { behaviours, presets } from '../../simulator/faults/traits.ts'
import type { Truth } from '../../simulator/faults/truth.ts'
import { sql } from '../../src/db/sql.ts'
import { confirmDiscrepancy } from '../../src/reconciliation/decide.ts'
import { reconcile } from '../../src/reconciliation/run.ts'
import { settleTransaction } from '../../src/transactions/settle.ts'
import { findBreaches } from '../../src/verification.ts'
import { settleDepsWith } from '../support/acquirer.ts'
import {
  balanceOfLedger,
  countDue,
  createMany,
  decideDisputes,
  findDisagreements,
  findForged,
  forEachIndexConcurrent,
  type HostileBank,
  listCodes,
  openHostileBank,
  readLedger,
} from '../support/hostile-bank.ts'
import { lengthOf } from '../support/random.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { eventually } from '../support/webhooks.ts'

/** The number of payments. */
const count = lengthOf({ short: 240, long: 10_000 })
const seed = Number(process.env.HOSTILE_SEED ?? 20_260_302)
/** More often than in the preset: a short run has few payments, and each of these is to occur in some of them. */
const traits = {
  ...presets.hostile,
  ...{ without_txid: 0.08, slow: 0.08, late: 0.08, twice: 0.08, other_amount: 0.08, other_payer: 0.08 },
  ...{ returned: 0.08, contested: 0.08 },
}
const minute = 60_000
const day = 24 * 60 * minute
const timeoutMs = lengthOf({ short: 300_000, long: 1_800_000 })

let service: TestService
let bank: HostileBank
let truth: Truth

beforeAll(async () => {
  service = await startTestService()
  bank = await openHostileBank(service, { name: 'hostile', seed, traits })
})
afterAll(async () => {
  await bank.close()
  await service.stop()
})

/** Runs the scheduled jobs, and waits until all due work has ended. */
async function settleDown(...jobs: string[]): Promise<void> {
  for (const job of jobs) await service.runJob(job, timeoutMs)
  let left: object = {}
  await eventually(
    async () => {
      left = await countDue(service.db, service.clock.now())
      return Object.values(left).every((due) => due === 0)
    },
    () => `still due: ${JSON.stringify(left)}`,
    timeoutMs,
  )
}

const scheduled = [
  'transactions.check',
  'transactions.check-refunds',
  'transactions.poll',
  'transactions.disputes',
  'suspense.check',
]
/** A second more than each pause after which an unconfirmed callback is checked again, before it counts as untrue. */
const pausesSeconds = [3, 11, 61, 301]

/** Advances the clock, and runs all automatic work. */
async function pass(ms: number): Promise<void> {
  service.clock.advance(ms)
  await settleDown(...scheduled)
  for (const seconds of pausesSeconds) {
    service.clock.advance(seconds * 1000)
    await settleDown()
  }
  // Unanswered requests are sent again.
  await settleDown(...scheduled)
}

describe(`${count} payments through a hostile bank (seed ${seed})`, () => {
  it(
    'are each credited once, and no money that never arrived is credited',
    async () => {
      // Payments that arrived before the first read of the list are not the service's.
      await settleDown('transactions.poll')
      await createMany(service, count)
      // Requests whose answers were lost are sent again.
      service.clock.advance(minute)
      await settleDown('transactions.check')
      const codes = await listCodes(service.db)
      expect(codes).toHaveLength(count)
      await forEachIndexConcurrent(count, async (index) => {
        const outcome = await bank.pay({ uri: codes[index] ?? '' })
        if (!outcome.ok) throw new Error(outcome.message)
      })
      await pass(0)
      // Slow payments arrive, codes expire, late payments arrive, and some are disputed and decided.
      for (const ms of [10 * minute, day, 10 * minute, 2 * day]) await pass(ms)
      expect(await decideDisputes(bank, service.db)).toBeGreaterThan(0)
      // Longer than the 15 minutes in which reconciliation considers a missing entry merely late.
      await pass(20 * minute)
      await bank.stopCallbacks()
      await settleDown()

      truth = await bank.truth()
      expect(findDisagreements(await readLedger(service.db), truth).slice(0, 20)).toEqual([])
      expect(await findBreaches(service.db)).toEqual([])
    },
    2 * timeoutMs,
  )

  it(
    'agree with the bank to the cent once reconciliation has found what it sent back without reporting it',
    async () => {
      const deps = settleDepsWith(service, bank.handle)
      const acquirer = deps.acquirers.named('simulator')
      const now = service.clock.now().getTime()
      const window = { from: new Date(now - 7 * day), to: new Date(now + 1) }
      const compareAll = async () => await reconcile(deps, { acquirer, kind: 'manual', window })
      const sentBack = new Set(
        truth.payments
          .filter(({ behaviours: some }) => /returned|contested/.test(some.join()))
          .map((one) => one.endToEndId),
      )
      const unreported = balanceOfLedger(await readLedger(service.db)) - truth.balance
      expect(unreported).toBeGreaterThan(0)

      expect((await compareAll()).state).toBe('complete')
      const found = await service.db.query<{ id: string; class: string; reference: string }>(sql`
        select id, class, reference from differences where state = 'open'`)
      expect(found.filter((one) => one.class !== 'return' || !sentBack.has(one.reference))).toEqual([])
      for (const { id } of found) await confirmDiscrepancy(deps, { id, by: { actor: 'operator' } })
      expect(balanceOfLedger(await readLedger(service.db))).toBe(truth.balance)
      expect(await compareAll()).toMatchObject({ state: 'complete', counts: {}, newCount: 0 })
      expect(await findBreaches(service.db)).toEqual([])
    },
    timeoutMs,
  )

  it('had enough faults to prove something', async () => {
    const { invented, swapped } = findForged(bank.reported, truth)
    const happened = truth.payments.flatMap((payment) => payment.behaviours)
    for (const behaviour of behaviours) {
      const times = happened.filter((one) => one === behaviour).length
      // The order of concurrent payments decides which payment has which behaviour. In a short run, 19 payments with
      // the rarest are expected. Fewer than four happen once in 100,000 runs.
      expect(times, behaviour).toBeGreaterThan((count * traits[behaviour]) / 6)
    }
    expect(invented.length).toBeGreaterThan(count / 10)
    expect(swapped.length).toBeGreaterThan(count / 20)
  })

  // The controls: errors of a gateway that the comparison must detect.
  it('would show a gateway that believes a callback', async () => {
    const { invented } = findForged(bank.reported, truth)
    const { transactions } = await readLedger(service.db)
    const row = transactions.find(({ end_to_end }) => end_to_end === null)
    const [forged] = invented
    if (!forged || !row) throw new Error('no payment was invented, or no charge is unpaid')
    const claim = { ...forged, txid: row.txid }
    const deps = settleDepsWith(service, async (request) =>
      request.path === `/pix/${claim.endToEndId}`
        ? { status: 200, headers: {}, body: JSON.stringify(claim) }
        : await bank.handle(request),
    )
    const reported = { acquirer: 'simulator', endToEndId: claim.endToEndId }
    expect(await settleTransaction(deps, { merchantId: await merchantOf(row.id), id: row.id, reported })).toBe(
      'settled',
    )
    const sentences = findDisagreements(await readLedger(service.db), truth)
    expect(sentences).toHaveLength(3)
    expect(sentences).toContain(`${claim.endToEndId} is posted and never arrived`)
    expect(sentences).toContain(`transaction ${row.id} is PAID, and not paid`)
    expect(sentences).toContainEqual(expect.stringMatching(/^the ledger holds /))
    // The ledger alone does not notice: it agrees with itself.
    expect(await findBreaches(service.db)).toEqual([])
  })

  it('would show a payment that is posted twice, with another amount, or not at all', async () => {
    const ledger = await readLedger(service.db)
    const [paid] = ledger.transactions.filter(
      ({ end_to_end, returned }) => returned === 0 && truth.payments.some((one) => one.endToEndId === end_to_end),
    )
    if (!paid?.end_to_end) throw new Error('nothing is paid')
    const before = findDisagreements(ledger, truth)
    const others = ledger.transactions.filter((one) => one !== paid)
    const changed = (transactions: typeof others) =>
      findDisagreements({ ...ledger, transactions }, truth).filter((sentence) => !before.includes(sentence))
    expect(changed([...ledger.transactions, paid])).toContain(`${paid.end_to_end} is posted twice`)
    expect(changed([...others, { ...paid, amount_paid: (paid.amount_paid ?? 0) + 1 }])).toHaveLength(1)
    expect(changed([...others, { ...paid, end_to_end: null }])).toContain(
      `${paid.end_to_end} arrived and is not posted`,
    )
  })
})

async function merchantOf(id: string): Promise<string> {
  const [row] = await service.db.query<{ merchant_id: string }>(
    sql`select merchant_id from transactions where id = ${id}`,
  )
  return row?.merchant_id ?? ''
}

import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Disturbance } from '../../simulator/disturb.ts'
import { slowReturnAmount } from '../../simulator/returns.ts'
import { sql } from '../../src/db/sql.ts'
import { cents } from '../../src/lib/money.ts'
import { saveUnattributedDispute } from '../../src/suspense/dispute-store.ts'
import { sendBack, startSendBack } from '../../src/suspense/send-back.ts'
import type { SuspenseRow } from '../../src/suspense/store.ts'
import { recordingLock } from '../../src/transactions/suspend.ts'
import { settleDepsWith } from '../support/acquirer.ts'
import { fetchTransaction } from '../support/payments.ts'
import { type FaultyNetwork, returnsOf, startOnFaultyNetwork } from '../support/refunds.ts'
import { findSuspenseOf, payWithFault } from '../support/suspense.ts'
import { eventually } from '../support/webhooks.ts'
import { balancesOf, expectLedgerConsistent, freezeAllPayouts, releaseAllPayouts } from '../support/withdrawals.ts'

let network: FaultyNetwork
const logged: Record<string, unknown>[] = []
beforeAll(async () => {
  network = await startOnFaultyNetwork({ onLog: (line) => logged.push(line) })
})
afterEach(async () => {
  await expectLedgerConsistent(network.service)
  expect(await balanceInLedger()).toBe(await balanceAtBank())
})
afterAll(async () => await network.stop())

const put = ['PUT', '/devolucao/'] as const
const get = ['GET', '/devolucao/'] as const

/** The balance at the bank by its own account: what arrived, less what went back. */
async function balanceAtBank(): Promise<number | undefined> {
  const [row] = await network.bank.query<{ balance: number }>(sql`
    select (select coalesce(sum(amount), 0) from simulator.pix)
      - (select coalesce(sum(amount), 0) from simulator.returns where rejection is null) as balance`)
  return row?.balance
}

/** The balance at the bank by the ledger accounts of all merchants and of the operator. */
async function balanceInLedger(): Promise<number | undefined> {
  const [row] = await network.service.db.query<{ balance: number }>(sql`
    select coalesce(-sum(balance), 0) as balance from ledger_accounts where account like 'acquirer:%'`)
  return row?.balance
}

/** Creates a transaction that is paid twice. `first` is the endToEndId of the payment that counts. */
async function payTwice(more: Record<string, unknown> = {}): Promise<{ id: string; first: string; second: string }> {
  const { service, bank } = network
  const { id } = await payWithFault(service, 'twice', more)
  await service.runJob('transactions.poll')
  let second = ''
  await eventually(async () => {
    const [suspended] = await service.db.query<{ end_to_end: string }>(sql`
      select end_to_end from suspense_payments where transaction_id = ${id}`)
    second = suspended?.end_to_end ?? ''
    return second !== ''
  })
  const { endToEnd: first } = await fetchTransaction(service, id)
  const arrived = await bank.query<{ end_to_end_id: string }>(sql`
    select end_to_end_id from simulator.pix where end_to_end_id = any(${[first ?? '', second]})`)
  expect(arrived).toHaveLength(2)
  return { id, first: first ?? '', second }
}

type Condition = () => boolean | Promise<boolean>

/** Checks a payment without the service's pauses until `isDone`. The bank rejects or settles each return at once. */
async function checkWithOutcome(rejection: 'AB03' | null, endToEnd: string, isDone: Condition): Promise<void> {
  const { service, bank } = network
  await eventually(async () => {
    const id = (await findSuspenseOf(service, endToEnd))?.return_id?.replaceAll('-', '') ?? ''
    await bank.query(sql`
      update simulator.returns set rejection = ${rejection}, settles_at = requested_at where id = ${id}`)
    service.clock.advance(10_000)
    await service.db.query(sql`
      update suspense_payments set check_at = ${service.clock.now()} where end_to_end = ${endToEnd} and check_at is not null`)
    await service.runJob('suspense.check')
    return await isDone()
  })
}

/** Records what the acquirer would report: a dispute of a payment that pays no transaction. */
async function disputeUnattributed(endToEndId: string, state: 'open' | 'rejected' = 'open'): Promise<void> {
  const { db, clock } = network.service
  const openedAt = clock.now()
  await saveUnattributedDispute(db, {
    acquirer: 'simulator',
    now: openedAt,
    found: {
      ...{ reference: `of ${endToEndId}`, endToEndId, amount: cents(1000), reason: null, deadline: null },
      ...{ state, status: state, openedAt },
    },
  })
}

/** Advances the clock minute by minute, and runs the check of returns each time, until the condition is met. */
async function checkUntil(condition: Condition): Promise<void> {
  await eventually(async () => {
    network.service.clock.advance(60_000)
    await network.service.runJob('suspense.check')
    await sleep(40)
    return await condition()
  })
}
const statusOf = async (endToEnd: string) => (await findSuspenseOf(network.service, endToEnd))?.status

describe('a duplicate payment', () => {
  it('is returned automatically, and never enters the merchant’s balance', async () => {
    const { service, bank } = network
    const before = await balancesOf(service)
    const { id, first, second } = await payTwice()
    await checkUntil(async () => (await statusOf(second)) === 'returned')
    expect(await returnsOf(bank, first)).toEqual([])
    const row = await findSuspenseOf(service, second)
    const returnId = row?.return_id?.replaceAll('-', '')
    expect(await returnsOf(bank, second)).toEqual([{ id: returnId, amount: 1000, nature: 'ORIGINAL' }])
    expect(row).toMatchObject({
      statuses: ['held', 'returning', 'returned'],
      return_end_to_end: expect.stringMatching(/^D/),
    })
    expect(await fetchTransaction(service, id)).toMatchObject({ status: 'PAID', amountPaid: 1000, endToEnd: first })
    const after = await balancesOf(service)
    expect(after).toEqual({ ...before, available: before.available + 1000, acquirer: before.acquirer - 1000 })
    const { body } = await service.call<{ data: { kind: string; recordId: string }[] }>('/statement')
    expect(body.data.filter(({ recordId }) => recordId === id || recordId === row?.id).map(({ kind }) => kind)).toEqual(
      ['payment'],
    )
  })

  it('is returned once, however many answers are lost', async () => {
    const { service, bank } = network
    const lost = Array.from({ length: 40 }, (_, n): Disturbance => (n % 3 === 0 ? 'time_out_before' : 'time_out_after'))
    network.disturb(...put, ...lost)
    network.disturb(...get, ...Array.from({ length: 20 }, () => 'error_500' as const))
    const paid: { first: string; second: string }[] = []
    for (let n = 0; n < 10; n += 1) paid.push(await payTwice())
    await checkUntil(async () => {
      const statuses = await Promise.all(paid.map(async ({ second }) => await statusOf(second)))
      return statuses.every((status) => status === 'returned')
    })
    for (const { second } of paid) expect(await returnsOf(bank, second)).toHaveLength(1)
    for (const { first } of paid) expect(await returnsOf(bank, first)).toEqual([])
    network.disturb(...put)
    network.disturb(...get)
    expect((await balancesOf(service)).suspense).toBe(0)
  })

  it('waits during a payout freeze', async () => {
    const { service, bank } = network
    await freezeAllPayouts(service)
    const requested = network.countRequests(...put)
    const { second } = await payTwice()
    await checkUntil(async () => (await findSuspenseOf(service, second))?.error_message?.includes('frozen') ?? false)
    expect(network.countRequests(...put)).toBe(requested)
    expect(await returnsOf(bank, second)).toEqual([])
    await releaseAllPayouts(service)
    await checkUntil(async () => (await statusOf(second)) === 'returned')
    expect(await returnsOf(bank, second)).toHaveLength(1)
  })

  it('is no error if its return is refused because the bank has returned all of it', async () => {
    const { service, bank } = network
    await freezeAllPayouts(service)
    const { second } = await payTwice()
    await bank.query(sql`
      insert into simulator.returns (end_to_end_id, id, return_id, amount, nature, requested_at, settles_at)
      select ${second}, 'med', ${`D${second.slice(1)}`}, 1000, 'MED_FRAUDE', now, now
      from (select ${service.clock.now()}::timestamptz as now) at`)
    await releaseAllPayouts(service)
    await checkUntil(async () => (await statusOf(second)) === 'returned')
    const row = await findSuspenseOf(service, second)
    expect(row).toMatchObject({ taken_amount: 1000, return_id: null })
    expect(logged.filter(({ suspenseId, level }) => suspenseId === row?.id && level === 50)).toEqual([])
  })

  it('waits for an acquirer that is no longer configured, and says so', async () => {
    const { service, bank } = network
    await freezeAllPayouts(service)
    const { second } = await payTwice()
    await checkUntil(async () => (await statusOf(second)) === 'returning')
    const { id = '', merchant_id: merchantId = '' } = (await findSuspenseOf(service, second)) ?? {}
    // A process whose settings no longer have the acquirer. The running service sends nothing during the freeze.
    const send = async () => await Promise.reject(new Error('no request was expected'))
    await sendBack(settleDepsWith(service, send, { name: 'another-psp' }), { merchantId, id })
    expect((await findSuspenseOf(service, second))?.error_message).toMatch(/^The acquirer simulator is not configured/)
    await releaseAllPayouts(service)
    await checkUntil(async () => (await statusOf(second)) === 'returned')
    expect(await returnsOf(bank, second)).toHaveLength(1)
  })

  it('is returned again, under a new id, when its return was refused for a temporary reason', async () => {
    const { service, bank } = network
    // The simulated bank rejects a return of 800,001 cents with a permanent code: the test replaces it.
    const { second } = await payTwice({ amount: 800_001 })
    const reject = async (code: string) =>
      await bank.query(sql`update simulator.returns set rejection = ${code} where end_to_end_id = ${second}`)
    await eventually(async () => {
      await reject('AB03')
      service.clock.advance(10_000)
      await service.runJob('suspense.check')
      return (await findSuspenseOf(service, second))?.statuses.length === 4
    })
    const again = await findSuspenseOf(service, second)
    expect(again).toMatchObject({
      statuses: ['held', 'returning', 'held', 'returning'],
      error_message: expect.stringContaining('AB03'),
    })
    const [first] = await bank.query<{ id: string }>(
      sql`select id from simulator.returns where end_to_end_id = ${second}`,
    )
    expect(first?.id).not.toBe(again?.return_id?.replaceAll('-', ''))
    // Now the bank carries out the second return.
    await checkUntil(async () => {
      await bank.query(
        sql`update simulator.returns set rejection = null where end_to_end_id = ${second} and id <> ${first?.id ?? ''}`,
      )
      return (await statusOf(second)) === 'returned'
    })
    expect((await balancesOf(service)).suspense).toBe(0)
  })

  it('is returned again as often when an operator starts it after four refusals', async () => {
    const { service } = network
    const { second } = await payTwice({ amount: slowReturnAmount })
    const hasStatuses = (count: number) => async () =>
      (await findSuspenseOf(service, second))?.statuses.length === count
    await checkWithOutcome('AB03', second, hasStatuses(9))
    const stopped = await findSuspenseOf(service, second)
    expect(stopped?.statuses.at(-1)).toBe('held')
    service.clock.advance(1_000)
    await startSendBack(service, { id: stopped?.id ?? '', by: { actor: 'cli:test' } })
    await checkWithOutcome('AB03', second, hasStatuses(12))
    await checkWithOutcome(null, second, async () => (await statusOf(second)) === 'returned')
  })

  it('is not logged as refused when the refusal could not be recorded', async () => {
    const { service } = network
    const { second } = await payTwice({ amount: slowReturnAmount })
    await service.db.query(sql`
      create function fail_commit() returns trigger language plpgsql as $$ begin raise exception 'a test'; end $$`)
    await service.db.query(sql`
      create constraint trigger fail_commit after update on suspense_payments deferrable initially deferred
      for each row when (new.status = 'held') execute function fail_commit()`)
    const from = logged.length
    const messages = () => logged.slice(from).map(({ msg }) => msg)
    await checkWithOutcome('AB03', second, () =>
      messages().includes('an outgoing payment could not be completed and will be tried again'),
    )
    expect(messages()).not.toContain('a payment could not be sent back now and will be sent again')
    await service.db.query(sql`drop function fail_commit cascade`)
    await checkWithOutcome(null, second, async () => (await statusOf(second)) === 'returned')
  })

  it('stays in suspense with the reason of a refused return, until an operator sends it again', async () => {
    const { service, bank } = network
    const { second } = await payTwice({ amount: 800_004 })
    await checkUntil(async () => (await statusOf(second)) === 'held')
    const refused = await findSuspenseOf(service, second)
    expect(refused).toMatchObject({ return_id: null, check_at: null, error_message: expect.stringMatching(/\S/) })
    expect((await balancesOf(service)).suspense).toBe(800_004)
    expect(await returnsOf(bank, second)).toEqual([])
    // The bank refuses the second return too.
    await startSendBack(service, { id: refused?.id ?? '', by: { actor: 'cli:test' } })
    await checkUntil(async () => (await findSuspenseOf(service, second))?.statuses.length === 5)
    expect((await findSuspenseOf(service, second))?.statuses).toEqual([
      'held',
      'returning',
      'held',
      'returning',
      'held',
    ])
    expect((await balancesOf(service)).suspense).toBe(800_004)
  })

  it('stays in suspense if it is disputed before it is found', async () => {
    const { service, bank } = network
    const requested = network.countRequests(...put)
    // The service records no payment before the dispute. Either payment may become the duplicate.
    const id = await service.db.transaction(
      async () => {
        const paid = await payWithFault(service, 'twice')
        const both = await bank.query<{ end_to_end: string }>(sql`
          select end_to_end_id as end_to_end from simulator.pix
          where charge_id = (select charge_id from simulator.pix where end_to_end_id = ${paid.endToEnd})`)
        expect(both).toHaveLength(2)
        for (const one of both) await disputeUnattributed(one.end_to_end)
        return paid.id
      },
      { ...recordingLock, isShared: false },
    )
    await service.runJob('transactions.poll')
    const findDuplicate = async () => {
      const [row] = await service.db.query<SuspenseRow>(
        sql`select * from suspense_payments where transaction_id = ${id}`,
      )
      return row
    }
    await eventually(async () => (await findDuplicate()) !== undefined)
    const duplicate = await findDuplicate()
    expect(duplicate).toMatchObject({ statuses: ['held'], return_id: null, check_at: null })
    service.clock.advance(120_000)
    await service.runJob('suspense.check')
    expect(network.countRequests(...put)).toBe(requested)
    await expect(startSendBack(service, { id: duplicate?.id ?? '', by: { actor: 'cli:test' } })).rejects.toThrow(
      'open dispute',
    )
  })

  it('is not returned again after a temporary refusal if it is disputed by then', async () => {
    const { service, bank } = network
    const { second } = await payTwice({ amount: 800_001 })
    const isSent = async () =>
      (await bank.query(sql`select from simulator.returns where end_to_end_id = ${second}`)).length > 0
    await eventually(isSent)
    await disputeUnattributed(second)
    await eventually(async () => {
      await bank.query(sql`update simulator.returns set rejection = 'AB03' where end_to_end_id = ${second}`)
      service.clock.advance(10_000)
      await service.runJob('suspense.check')
      return (await findSuspenseOf(service, second))?.statuses.length === 3
    })
    expect(await findSuspenseOf(service, second)).toMatchObject({
      ...{ statuses: ['held', 'returning', 'held'], return_id: null, check_at: null },
      error_message: expect.stringContaining('AB03'),
    })
  })

  it('is not returned again while it is disputed, even if the dispute is reported after the refusal', async () => {
    const { service, bank } = network
    const { second } = await payTwice({ amount: 800_001 })
    await eventually(async () => {
      await bank.query(sql`update simulator.returns set rejection = 'AB03' where end_to_end_id = ${second}`)
      service.clock.advance(10_000)
      await service.runJob('suspense.check')
      return (await findSuspenseOf(service, second))?.statuses.length === 4
    })
    await disputeUnattributed(second)
    const requested = network.countRequests(...put)
    await checkUntil(async () => /is disputed/.test((await findSuspenseOf(service, second))?.error_message ?? ''))
    expect(network.countRequests(...put)).toBe(requested)
    expect(await statusOf(second)).toBe('returning')
    await disputeUnattributed(second, 'rejected')
    await checkUntil(() => network.countRequests(...put) > requested)
    await checkUntil(async () => (await statusOf(second)) === 'held')
  })
})

import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { sql } from '../../src/db/sql.ts'
import { findEntryBreaches } from '../../src/entries/verify.ts'
import { operatorMerchantId } from '../../src/suspense/status.ts'
import { type CommandLine, openCommandLine } from '../support/command-line.ts'
import { payOne, type Refundable, requestRefund } from '../support/refunds.ts'
import { addTestClient } from '../support/requests.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { inviteUser, openBrowser, password } from '../support/users.ts'
import { eventually } from '../support/webhooks.ts'
import { balancesOf, expectLedgerConsistent, merchantOf, transfersOf } from '../support/withdrawals.ts'

type Entry = { id: string; type: string; amount: number; isReplay: boolean; reference: string | null }
type StatementEntry = { kind: string; amount: number; recordType: string; recordId: string }

let service: TestService
let cli: CommandLine
let client: string
let merchantId: string

beforeAll(async () => {
  // The commands use the real time, and so does the service.
  service = await startTestService({ clock: { now: () => new Date(), advance: () => {}, set: () => {} } })
  cli = await openCommandLine(service)
  client = service.sandbox.clientId
  merchantId = await merchantOf(service)
  await cli.read(['fee', 'set', '--client', client, '--operation', 'transaction', '--fixed', '200'])
})
afterEach(async () => await expectLedgerConsistent(service))
afterAll(async () => {
  await cli.stop()
  await service.stop()
})

const post = async (...args: string[]) => await cli.runJson<Entry>(['ledger', ...args, '--description', 'a test'])
const expectRefusal = async (line: string, message: RegExp) =>
  await cli.expectFailure(['ledger', ...line.split(' '), '--description', 'a test'], message)
const manual = (debit: string, credit: string, cents: number) =>
  `entry --client ${client} --debit ${debit} --credit ${credit} --amount ${cents}`.split(' ')
const accountsOf = async (id: string): Promise<Record<string, number>> => {
  const rows = await service.db.query<{ account: string; balance: number }>(sql`
    select account, balance from ledger_accounts where merchant_id = ${id} and balance <> 0`)
  return Object.fromEntries(rows.map(({ account, balance }) => [account, balance]))
}
/** `ledger accounts` without the comparison with the PSP, which a job may update at any time. */
const total = async () => {
  type Accounts = { acquirers: { acquirer: string; cents: number }[]; fees: number }
  const { acquirers, fees } = await cli.runJson<Accounts>(['ledger', 'accounts'])
  return { acquirers: acquirers.map(({ acquirer, cents }) => ({ acquirer, cents })), fees }
}
/** By manual entries: no balance, and this debt, as if more than the balance had been returned under MED. */
async function owe(cents: number): Promise<void> {
  const { available } = (await service.call<{ available: number }>('/balance')).body
  if (available > 0) await approve((await post(...manual('available', 'acquirer', available))).id)
  await approve((await post(...manual('debt', 'acquirer', cents))).id)
}
async function approve(id: string): Promise<void> {
  await cli.read(['--as', 'maria', 'proposal', 'approve', id])
}
const statement = async () => (await service.call<{ data: StatementEntry[] }>('/statement')).body.data

describe('fees', () => {
  it('are drawn across all merchants, once for each key, and never more than there are', async () => {
    await payOne(service)
    await payOne(service)
    expect(await total()).toMatchObject({ acquirers: [{ acquirer: 'simulator', cents: 2_000 }], fees: 400 })
    const drawn = await post('draw-fees', '--amount', '300', '--key', 'october')
    expect(drawn).toMatchObject({ type: 'fee_draw', amount: 300, isReplay: false })
    expect(await post('draw-fees', '--amount', '300', '--key', 'october')).toMatchObject({
      id: drawn.id,
      isReplay: true,
    })
    await expectRefusal('draw-fees --amount 301 --key october', /different content/)
    await expectRefusal('draw-fees --amount 101', /The fees are R\$ 0,01 short of R\$ 1,01/)
    await expectRefusal('draw-fees --amount 1 --acquirer simulador', /There is no acquirer simulador/)
    await expectRefusal(`draw-fees --amount 1 --reference ${'x'.repeat(129)}`, /--reference.* 1 to 128 characters/)
    expect(await total()).toMatchObject({ acquirers: [{ acquirer: 'simulator', cents: 1_700 }], fees: 100 })
    expect(await transfersOf(service, drawn.id)).toEqual(['fees_drawn fees>acquirer 300'])
    const acted = await cli.runJson<{ action: string; recordId: string }[]>(['audit', 'list', '--record', drawn.id])
    expect(acted).toMatchObject([{ action: 'entry.fee_draw', recordId: drawn.id }])
  })

  it('pay the PSP’s fees, and the excess is a loss of the operator', async () => {
    await post('psp-fee', '--amount', '150')
    expect(await accountsOf(operatorMerchantId)).toEqual({ debt: -50, 'acquirer:simulator': 50 })
    const paidIn = await post('pay-in', '--amount', '80')
    expect(await accountsOf(operatorMerchantId)).toEqual({ fees: 30, 'acquirer:simulator': -30 })
    expect(await transfersOf(service, paidIn.id)).toEqual(['pay_in acquirer>debt 50', 'pay_in acquirer>fees 30'])
  })
})

describe('the balance at the PSP', () => {
  type Ledger = {
    acquirers: { acquirer: string; ledgerBalance: number; compared: { difference: number; available: number } | null }[]
  }

  it('is compared with the clearing account, and unposted money shows everywhere', async () => {
    const email = await inviteUser(service, { role: 'finance' })
    const finance = await openBrowser(service, { email, password })
    const differences = async () =>
      (await finance.call<Ledger>('/dashboard/api/ledger')).body.acquirers.map((one) => one.compared?.difference)
    const compare = async (difference: number) => {
      await service.runJob('reconciliation.balance')
      await eventually(async () => String(await differences()) === String(difference))
    }
    // The entries of the earlier tests moved no money at the simulated PSP: it still holds the two payments.
    const { acquirers } = await total()
    const atPsp = 2_000
    await compare(atPsp - (acquirers[0]?.cents ?? 0))
    // The former balance is also that of an acquirer that is no longer configured: it is not compared.
    await service.db.query(sql`
      with gone as (insert into settings select name || '-gone', value from settings where name = 'acquirer_balance:simulator')
      update simulator.pix set amount = amount + 25 where end_to_end_id = (select end_to_end_id from simulator.pix limit 1)`)
    await compare(atPsp + 25 - (acquirers[0]?.cents ?? 0))
    expect(await cli.read(['ledger', 'accounts'])).toMatch(
      /^held by simulator +R\$ .*, the PSP reports R\$ .* more \(/m,
    )
    const { text } = await service.call('/metrics', { token: null })
    expect(text).toContain(`guiche_acquirer_balance_cents{acquirer="simulator",side="acquirer"} ${atPsp + 25}`)
    expect(text).toMatch(/guiche_acquirer_balance_difference_cents\{acquirer="simulator"\} \d/)
    await service.db.query(sql`update simulator.pix set amount = amount - 25 where amount = 1025`)
  })
})

describe('a merchant that owes', () => {
  it('pays in: its debt is repaid first, and its statement shows the entry', async () => {
    await owe(500)
    const { id } = await post('pay-in', '--client', client, '--amount', '700')
    expect(await accountsOf(merchantId)).toEqual({ available: 200, 'acquirer:simulator': -200 })
    const entries = (await statement()).filter(({ recordId }) => recordId === id)
    expect(entries).toMatchObject([
      { kind: 'debt_repaid', amount: -500, recordType: 'pay_in' },
      { kind: 'pay_in', amount: 700, recordType: 'pay_in', description: 'a test' },
    ])
  })

  it('has its debt written off: from the fees that it paid, then from the operator’s other money', async () => {
    await payOne(service)
    await owe(500)
    await cli.expectFailure(
      ['ledger', 'write-off', '--client', client, '--amount', '501', '--description', 'x'],
      /owes R\$ 5,00, which is less than R\$ 5,01/,
    )
    const { id } = await post('write-off', '--client', client, '--amount', '500')
    expect(await accountsOf(merchantId)).toEqual({})
    // 200 of its own fees, 30 of the operator's, and a loss.
    expect(await accountsOf(operatorMerchantId)).toEqual({ debt: -270, 'acquirer:simulator': 270 })
    expect(await transfersOf(service, id)).toHaveLength(4)
  })
})

describe('a manual entry', () => {
  it('is posted once when another person approves it', async () => {
    const { id } = await post(...manual('acquirer', 'available', 900))
    expect(await accountsOf(merchantId)).toEqual({})
    await cli.expectFailure(['proposal', 'approve', id], /nobody can approve their own request/)
    await approve(id)
    expect(await accountsOf(merchantId)).toEqual({ available: 900, 'acquirer:simulator': -900 })
    await cli.expectFailure(['--as', 'maria', 'proposal', 'approve', id], /nothing is left to decide/)
    expect(await accountsOf(merchantId)).toMatchObject({ available: 900 })
  })

  it('is proposed once for each key, even after it was approved, and never with other content', async () => {
    const args = (cents: number) => [...manual('available', 'acquirer', cents), '--key', 'november']
    const first = await post(...args(900))
    expect(first).toMatchObject({ state: 'open', amount: 900, isReplay: false })
    expect(await post(...args(900))).toEqual({ ...first, isReplay: true })
    const other = ['ledger', ...args(899), '--description', 'a test']
    await cli.expectFailure(other, /different content/)
    await approve(first.id)
    expect(await post(...args(900))).toEqual({ ...first, state: 'approved', isReplay: true })
    await cli.expectFailure(other, /different content/)
    expect(await accountsOf(merchantId)).toEqual({})
    await approve((await post(...manual('acquirer', 'available', 900))).id)
  })

  it('takes no more than there is', async () => {
    const short = await post(...manual('available', 'fees', 901))
    await cli.expectFailure(
      ['--as', 'maria', 'proposal', 'approve', short.id],
      /available has R\$ 9,00, which is less than R\$ 9,01/,
    )
    await cli.read(['proposal', 'reject', short.id])
    const unowed = await post(...manual('available', 'debt', 1))
    await cli.expectFailure(['--as', 'maria', 'proposal', 'approve', unowed.id], /The debt is R\$ 0,00/)
    await cli.read(['proposal', 'reject', unowed.id])
  })
})

describe('in the dashboard', () => {
  type Person = Awaited<ReturnType<typeof openBrowser>>
  type EntryAnswer = { errors?: { field: string; code: string }[]; state?: string; id?: string; code?: string }
  const people: Person[] = []
  const keyOf = () => `dashboard-${randomUUID().replaceAll('-', '')}`
  const form = (fields: object) => ({
    acquirer: 'simulator',
    description: 'a test',
    idempotencyKey: keyOf(),
    ...fields,
  })
  const send = async (fields: object, path = '', by = people[0]) =>
    (await by?.call<EntryAnswer>(`/dashboard/api/entry${path}`, { body: form(fields) })) ?? expect.fail()
  const faultsOf = async (fields: object) =>
    (await send(fields, '/preview')).body.errors?.map(({ field, code }) => `${field} ${code}`)
  const actionsOf = async (id: string) =>
    (await cli.runJson<{ action: string }[]>(['audit', 'list', '--record', id])).map(({ action }) => action)

  beforeAll(async () => {
    for (const role of ['finance', 'finance', 'read_only']) {
      people.push(await openBrowser(service, { email: await inviteUser(service, { role }), password }))
    }
  })

  it('a preview shows the transfers and posts nothing', async () => {
    await payOne(service)
    const before = await total()
    const fields = { type: 'pay_in', clientId: client, amount: 4_000, reference: 'TED 4' }
    expect((await send(fields, '/preview')).body).toEqual({
      transfers: [
        { kind: 'pay_in', debit: 'acquirer', credit: 'available', amount: 4_000, merchants: 1, isOperators: false },
      ],
      needsApproval: false,
    })
    expect(await total()).toEqual(before)
  })

  it('an entry is posted once for each form, audited, and listed', async () => {
    const { available = 0 } = await accountsOf(merchantId)
    const fields = { type: 'pay_in', clientId: client, amount: 4_000, reference: 'TED 4', idempotencyKey: keyOf() }
    const { body } = await send(fields)
    expect(body).toEqual({ state: 'booked', id: expect.any(String) })
    expect((await send(fields)).body).toEqual(body)
    const other = await send({ ...fields, reference: 'TED 9', description: 'another' })
    expect([other.status, other.body.errors?.map(({ field }) => field)]).toEqual([422, ['reference', 'description']])
    expect(await accountsOf(merchantId)).toMatchObject({ available: available + 4_000 })
    expect(await actionsOf(body.id ?? '')).toEqual(['entry.pay_in'])
    const listed = await people[2]?.call('/dashboard/api/entry')
    expect(listed?.body).toMatchObject({
      acquirers: ['simulator'],
      data: expect.arrayContaining([expect.objectContaining({ id: body.id, clientId: client, amount: 4_000 })]),
    })
  })

  it('errors name the fields', async () => {
    expect(await faultsOf({ type: 'fee_draw', amount: 1_000_000 })).toEqual(['amount more_than_fees'])
    expect(await faultsOf({ type: 'write_off', clientId: client, amount: 100 })).toEqual(['amount more_than_owed'])
    expect(await faultsOf({ type: 'write_off', amount: 100 })).toEqual(['clientId required'])
    expect(await faultsOf({ type: 'psp_fee', clientId: client, amount: 100 })).toEqual(['clientId invalid'])
    expect(await faultsOf({ type: 'pay_in', amount: 100, acquirer: 'elsewhere' })).toEqual(['acquirer not_offered'])
    expect(await faultsOf({ type: 'pay_in', amount: 100, reference: 'TED 4' })).toEqual(['reference duplicate'])
    expect(await faultsOf({ type: 'manual_entry', amount: 100 })).toEqual(['debit required', 'credit required'])
    const manual = { type: 'manual_entry', amount: 1_000_000, debit: 'fees' }
    expect(await faultsOf({ ...manual, credit: 'fees' })).toEqual(['credit same_account'])
    expect(await faultsOf({ ...manual, credit: 'acquirer' })).toEqual(['amount more_than_balance'])
  })

  it.each([
    ['pay_in', { amount: 50_001, reference: 'TED 5' }],
    ['manual_entry', { amount: 50_001, debit: 'acquirer', credit: 'available' }],
  ])('%s of a large amount for a merchant waits for another person, and is posted once', async (type, fields) => {
    const { available = 0 } = await accountsOf(merchantId)
    const wanted = { type, clientId: client, idempotencyKey: keyOf(), ...fields }
    expect((await send(wanted, '/preview')).body).toMatchObject({ needsApproval: true })
    const { body } = await send(wanted)
    const again = (await send(wanted)).body
    // Sending the same form again proposes nothing more.
    expect([body.state, again]).toEqual(['proposed', body])
    expect(await accountsOf(merchantId)).toMatchObject({ available })
    const approve = async (by: Person | undefined, id = '') =>
      await by?.call<EntryAnswer>(`/dashboard/api/proposal/${id}/approval`, { method: 'POST' })
    expect((await approve(people[0], again.id))?.body.errors).toMatchObject([{ code: 'same_person' }])
    expect((await approve(people[1], body.id))?.status).toBe(200)
    expect((await approve(people[1], body.id))?.body.errors).toMatchObject([{ code: 'not_open' }])
    // The same form sent after the approval is proposed again; approving that posts nothing.
    const late = (await send(wanted)).body
    expect((await approve(people[1], late.id))?.status).toBe(200)
    expect(await accountsOf(merchantId)).toMatchObject({ available: available + 50_001 })
  })
})

it.each([
  ['another amount', sql`update operator_entries set amount = amount + 1 where type = 'fee_draw'`],
  ['another acquirer', sql`update operator_entries set acquirer = 'other' where type = 'psp_fee'`],
  [
    'no transfers',
    sql`update operator_entries set id = gen_random_uuid() where type = 'pay_in' and merchant_id <> ${operatorMerchantId}`,
  ],
  ['another merchant', sql`update operator_entries set merchant_id = ${randomUUID()} where type = 'manual_entry'`],
])('the verifier finds an entry with %s', async (_, change) => {
  const undo = new Error('taken back')
  await service.db
    .transaction(async (tx) => {
      await tx.query(change)
      expect((await findEntryBreaches(tx)).map(({ rule }) => rule)).toContain('entry_transfers')
      throw undo
    })
    .catch((error: unknown) => {
      if (error !== undo) throw error
    })
})

describe('the fee of a payment', () => {
  /** A merchant with a fee of 7 cents for each payment, and the arguments of the command that sets its refund rule. */
  const addMerchant = async () => {
    const merchant = await addTestClient(service)
    const [row] = await service.db.query<{ client_id: string }>(sql`
      select client_id from clients where merchant_id = ${merchant.merchantId}`)
    const rule = ['fee', 'set', '--client', row?.client_id ?? '', '--operation']
    await cli.read([...rule, 'transaction', '--fixed', '7'])
    return { ...merchant, feeRuleArgs: [...rule, 'refund'] }
  }
  type Shop = Awaited<ReturnType<typeof addMerchant>>
  const refundOf = async ({ token }: Shop, id: string, amount?: number) => {
    const answer = await requestRefund(service, id, amount === undefined ? {} : { amount }, { token })
    if (answer.status !== 201) return { id: '', end: answer.body.code }
    const isEnded = (refund: { id: string; status: string }) =>
      refund.id === answer.body.id && refund.status !== 'PROCESSING'
    const find = async () =>
      (await service.call<Refundable>(`/transaction/${id}`, { token })).body.refunds.find(isEnded)
    await eventually(async () => (await find()) !== undefined)
    return { id: answer.body.id, end: (await find())?.status }
  }

  it('is returned with the refund if the rule says so: the only sale can be refunded in full', async () => {
    const shop = await addMerchant()
    const { id } = await payOne(service, 1000, shop)
    expect((await refundOf(shop, id)).end).toBe('insufficient_balance')
    await cli.expectFailure([...shop.feeRuleArgs.with(-1, 'withdrawal'), '--returns-payment-fee'], /--operation refund/)
    const shown = await cli.read([...shop.feeRuleArgs, '--returns-payment-fee'])
    expect(shown).toMatch(/^returnsPaymentFee +yes$/m)
    const whole = await refundOf(shop, id)
    expect(whole.end).toBe('REFUNDED')
    expect(await transfersOf(service, whole.id)).toEqual([
      'fee_returned fees>available 7',
      'refund_reserved available>reserved 1000',
      'refund_sent reserved>acquirer 1000',
    ])
    expect(await balancesOf(service, shop.merchantId)).toMatchObject({
      available: 0,
      fees: 0,
      reserved: 0,
      acquirer: 0,
    })
    const entries = (await service.call<{ data: StatementEntry[] }>('/statement?kind=fee_returned', shop)).body.data
    expect(entries).toMatchObject([{ amount: 7, recordType: 'refund', recordId: whole.id, transactionId: id }])
  })

  it('is returned in whole cents, exactly once over all parts, and is charged again for a refused refund', async () => {
    const shop = await addMerchant()
    await cli.read([...shop.feeRuleArgs, '--returns-payment-fee'])
    const { id } = await payOne(service, 1000, shop)
    const returned: number[] = []
    for (const amount of [333, 333, 333, 1]) {
      const part = await refundOf(shop, id, amount)
      expect(part.end).toBe('REFUNDED')
      returned.push(
        ...(await transfersOf(service, part.id))
          .flatMap((line) => /^fee_returned fees>available (\d+)$/.exec(line)?.[1] ?? [])
          .map(Number),
      )
    }
    expect(returned).toEqual([2, 2, 2, 1])
    // The simulated PSP refuses a return of exactly this amount, but accepts it in parts.
    const refused = await payOne(service, 800_004, shop)
    const failed = await refundOf(shop, refused.id)
    expect(failed.end).toBe('FAILED')
    expect(await transfersOf(service, failed.id)).toEqual([
      'fee_returned fees>available 7',
      'refund_reserved available>reserved 800004',
      'refund_released reserved>available 800004',
      'fee_return_reversed available>fees 7',
    ])
    expect(await balancesOf(service, shop.merchantId)).toMatchObject({ available: 799_997, fees: 7, reserved: 0 })
    expect((await refundOf(shop, refused.id, 800_003)).end).toBe('REFUNDED')
    expect((await refundOf(shop, refused.id, 1)).end).toBe('REFUNDED')
    expect(await balancesOf(service, shop.merchantId)).toMatchObject({ available: 0, fees: 0, acquirer: 0 })
  })

  it('is returned from the operator’s own money when the fees were drawn', async () => {
    const shop = await addMerchant()
    await cli.read([...shop.feeRuleArgs, '--returns-payment-fee'])
    const { id } = await payOne(service, 1000, shop)
    await post('draw-fees', '--amount', String((await total()).fees), '--key', randomUUID())
    const before = await accountsOf(operatorMerchantId)
    const { acquirers } = await total()
    const whole = await refundOf(shop, id)
    expect(whole.end).toBe('REFUNDED')
    expect(await transfersOf(service, whole.id)).toEqual([
      'fee_returned acquirer>available 7',
      'refund_reserved available>reserved 1000',
      'fee_returned debt>acquirer 7',
      'refund_sent reserved>acquirer 1000',
    ])
    expect((await accountsOf(operatorMerchantId)).debt ?? 0).toBe((before.debt ?? 0) - 7)
    expect((await total()).acquirers).toEqual(acquirers.map((one) => ({ ...one, cents: one.cents - 1000 })))
  })
})

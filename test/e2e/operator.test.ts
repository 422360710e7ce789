import { randomUUID } from 'node:crypto'
import { userInfo } from 'node:os'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sql } from '../../src/db/sql.ts'
import { type CommandLine, openCommandLine } from '../support/command-line.ts'
import { charge, payAt, untilStatus } from '../support/payments.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { eventually, startTestReceiver, suspendJob } from '../support/webhooks.ts'

type Explained = {
  status: string
  summary: string
  timeline: { at: string; kind: string; what: string; data: object }[]
}
type Acted = { actor: string; action: string; recordId: string | null; details: Record<string, unknown> | null }

let service: TestService
let cli: CommandLine
let client: string

beforeAll(async () => {
  // The commands use the real time, and so does the service.
  service = await startTestService({ clock: { now: () => new Date(), advance: () => {}, set: () => {} } })
  cli = await openCommandLine(service)
  client = service.sandbox.clientId
})
afterAll(async () => {
  await cli.stop()
  await service.stop()
})

async function pay(amount: number, more: Record<string, unknown> = {}): Promise<string> {
  const { id, uri } = await charge(service, { amount, ...more })
  expect((await payAt(service, uri)).status).toBe(200)
  await untilStatus(service, id, 'PAID')
  return id
}

async function withdraw(amount: number, key = `${randomUUID()}@example.com`) {
  return await service.call<{ id: string; status: string; code?: string }>('/withdrawal', {
    body: { amount, method: 'PIX', pixKey: { key, type: 'EMAIL' }, idempotencyKey: randomUUID() },
  })
}

async function untilWithdrawal(id: string, status: string): Promise<void> {
  await eventually(async () => (await service.call<{ status: string }>(`/withdrawal/${id}`)).body.status === status)
}

const explain = async (id: string) => await cli.runJson<Explained>(['transaction', 'explain', id])
const auditOf = async (id: string) => await cli.runJson<Acted[]>(['audit', 'list', '--record', id])
const balances = async () => (await service.call<{ available: number; blocked: number }>('/balance')).body

describe('guiche fee', () => {
  it('sets a rule that applies from then on, prints it in reais, and lists the rules in force', async () => {
    const set = ['fee', 'set', '--client', client, '--operation', 'transaction']
    const shown = await cli.read([...set, '--fixed', '10', '--basis-points', '99', '--maximum', '200000'])
    expect(shown).toMatch(/^fixed +R\$ 0,10$/m)
    expect(shown).toMatch(/^basisPoints +99 \(0\.99 %\)$/m)
    expect(shown).toMatch(/^maximum +R\$ 2\.000,00$/m)
    expect(shown).toContain('for R$ 100,00 the fee is R$ 1,09.')
    await cli.runJson([...set, '--fixed', '10', '--basis-points', '100'])
    const rule = { clientId: client, operation: 'transaction', fixed: 10, basisPoints: 100, minimum: 0, maximum: null }
    expect(await cli.runJson(['fee', 'list'])).toMatchObject([{ ...rule, isInForce: true }])
    expect(await cli.runJson(['fee', 'list', '--client', client, '--all'])).toMatchObject([
      { basisPoints: 99, maximum: 200000, isInForce: false },
      { ...rule, isInForce: true },
    ])
    const id = await pay(10_000)
    expect((await service.call(`/transaction/${id}`)).body).toMatchObject({ feeAmount: 110 })
  })

  it('refuses an invalid rule, and says what to do', async () => {
    const set = ['fee', 'set', '--client', client, '--operation', 'refund']
    await cli.expectFailure(set, /Give at least one of --fixed/)
    await cli.expectFailure([...set, '--fixed', '1,50'], /An amount in cents: 1050 is R\$ 10,50/)
    await cli.expectFailure([...set, '--basis-points', '10001'], /from 0 to 10000/)
    await cli.expectFailure([...set, '--minimum', '10', '--maximum', '9'], /--maximum must not be below --minimum/)
    await cli.expectFailure(
      ['fee', 'set', '--client', client, '--operation', 'loan', '--fixed', '1'],
      /Allowed choices/,
    )
    await cli.expectFailure(
      ['fee', 'list', '--client', 'nobody'],
      /There is no client with this id\. `npx guiche client list`/,
    )
    expect(await cli.runJson(['fee', 'list'])).toHaveLength(1)
  })
})

describe('guiche transaction explain', () => {
  it('explains a payment from the request to the delivery, and that nothing is wrong', async () => {
    const receiver = await startTestReceiver()
    const id = await pay(2590, { webhookUrl: `${receiver.url}?secret=1`, externalCode: 'order-0001' })
    await receiver.until(2)
    await eventually(async () => {
      const { summary, timeline } = await explain(id)
      // Requests to the acquirer are recorded a moment after they were made.
      return summary.includes('The webhook was delivered') && timeline.some(({ kind }) => kind === 'acquirer')
    })
    const { timeline, summary, ...rest } = await explain(id)
    expect(rest).toMatchObject({ id, type: 'transaction', status: 'PAID', amount: 2590, clientId: client })
    expect(summary).toMatch(
      /^PAID: R\$ 25,90 arrived at \d\d:\d\d:\d\d; the fee is R\$ 0,36\. The webhook was delivered at \d\d:\d\d:\d\d\.$/,
    )
    expect([...new Set(timeline.map(({ kind }) => kind))].toSorted()).toEqual(
      ['acquirer', 'callback', 'delivery', 'ledger', 'request', 'status'].toSorted(),
    )
    expect(timeline.map(({ at }) => at)).toEqual(timeline.map(({ at }) => at).toSorted())
    const texts = timeline.map(({ kind, what }) => `${kind} ${what}`)
    expect(texts).toEqual(
      expect.arrayContaining([
        'request Sandbox requested a charge of R$ 25,90, external code order-0001',
        'status PIX_QRCODE_GENERATED',
        expect.stringMatching(/^callback simulator reported E\w{31}$/),
        expect.stringMatching(/^acquirer simulator was asked for the charge: found, \d+ ms$/),
        'status PAID',
        'ledger payment R$ 25,90, acquirer → available',
        'ledger fee R$ 0,36, available → fees',
        expect.stringMatching(/^delivery transaction\.paid to http:\/\/127\.0\.0\.1:\d+: 20\d, attempt 1, \d+ ms$/),
      ]),
    )
    expect(JSON.stringify(timeline)).not.toContain('secret=1')
    await receiver.stop()
  })

  it('prints readable text, and accepts a txid as well as an id', async () => {
    const id = await pay(123_456)
    const text = await cli.read(['transaction', 'explain', id.replaceAll('-', '').toUpperCase()])
    expect(text).toMatch(
      new RegExp(
        `^transaction ${id}\nR\\$ 1\\.234,56, client ${client}, acquirer simulator, E\\w{31}; times are UTC\n\n`,
      ),
    )
    expect(text).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} {2}status {4}PAID$/m)
    expect(text).toMatch(/\n\nPAID: R\$ 1\.234,56 arrived at .*\. No webhook: it was created without a webhookUrl\.\n$/)
  })

  it('says what the receiver answered and when it is tried next', async () => {
    const receiver = await startTestReceiver((response) => response.writeHead(500).end())
    const id = await pay(100, { webhookUrl: receiver.url })
    await eventually(async () => (await explain(id)).summary.includes('answered 500'))
    expect((await explain(id)).summary).toMatch(
      /The webhook transaction\.paid waits for transaction\.pix_qrcode_generated, which has not been delivered yet: the receiver answered 500 at attempt \d\. The delivery is tried again at /,
    )
    await receiver.stop()
  })

  it('explains refunds, with the requests to the acquirer', async () => {
    const id = await pay(3000)
    const body = { amount: 1000, idempotencyKey: randomUUID() }
    expect((await service.call(`/transaction/${id}/refund`, { body })).status).toBe(201)
    // The request to the acquirer is recorded after its answer, which may come after the callback.
    await eventually(async () => {
      const { summary, timeline } = await explain(id)
      return summary.includes('R$ 10,00 of it was refunded.') && timeline.some(({ what }) => what.includes('to refund'))
    })
    const { timeline } = await explain(id)
    expect(timeline.map(({ kind, what }) => `${kind} ${what}`)).toEqual(
      expect.arrayContaining([
        'refund R$ 10,00 requested',
        'ledger refund_reserved R$ 10,00, available → reserved',
        'status PROCESSING_REFUND',
        expect.stringMatching(/^acquirer simulator was asked to refund: /),
        'refund R$ 10,00 returned',
        'ledger refund_sent R$ 10,00, reserved → acquirer',
      ]),
    )
  })

  it('refuses an unknown id, and a text that is not an id', async () => {
    await cli.expectFailure(['transaction', 'explain', randomUUID()], /There is no transaction and no withdrawal/)
    await cli.expectFailure(['transaction', 'explain', 'E123'], /An id such as .*, or a txid/)
  })
})

describe('guiche ledger', () => {
  it('says that the ledger is consistent, and its size', async () => {
    await pay(100)
    expect(await cli.read(['ledger', 'verify'])).toMatch(/^the ledger is consistent: \d+ transfers of 1 merchant\n$/)
    expect(await cli.runJson(['ledger', 'verify'])).toMatchObject({
      agree: true,
      breaches: [],
      payoutFreeze: null,
      merchants: 1,
    })
    expect(await cli.runJson(['ledger', 'release'])).toEqual({ released: null })
  })

  it('freezes payouts, shows that, and unfreezes them', async () => {
    await cli.read(['ledger', 'stop', '--reason', 'a look at the bank', '--as', 'maria'])
    expect(await withdraw(100)).toMatchObject({ status: 503, body: { code: 'payouts_stopped' } })
    expect(await cli.read(['ledger', 'verify'])).toMatch(/frozen, since .*\(a look at the bank\)/)
    await cli.expectFailure(['ledger', 'stop', '--reason', 'again'], /already frozen, since .*a look at the bank/)
    expect(await cli.read(['ledger', 'release'])).toMatch(/^because +a look at the bank$/m)
    const { status, body } = await withdraw(100)
    expect(status).toBe(201)
    await untilWithdrawal(body.id, 'PROCESSED')
    const [stop, release] = (await cli.runJson<Acted[]>(['audit', 'list'])).slice(-2)
    const user = userInfo().username
    expect(stop).toMatchObject({ actor: 'cli:maria', action: 'payouts.freeze', details: { by: user } })
    expect(release).toMatchObject({ actor: `cli:${user}`, action: 'payouts.release' })
  })

  it('keeps what may have been sent pending review after a restore, also while payouts are frozen', async () => {
    await untilWithdrawal((await withdraw(100, 'once@example.com')).body.id, 'PROCESSED')
    const { id } = (await withdraw(100, 'once@example.com')).body
    const pending = async () => await cli.read(['withdrawal', 'list', '--pending-review'])
    expect(await pending()).toMatch(new RegExp(`^${id} +${client} +PENDING +duplicate `, 'm'))
    await cli.read(['ledger', 'stop', '--reason', 'a look at the bank'])
    await cli.read(['ledger', 'stop', '--restored', '--reason', 'restored up to noon'])
    expect(await cli.read(['ledger', 'release'])).toMatch(/^because +a look at the bank.*restored up to noon$/m)
    expect(await pending()).toMatch(new RegExp(`^${id} +${client} +PENDING +approval `, 'm'))
    await cli.read(['withdrawal', 'reject', id, '--reason', 'it was sent'])
  })

  it('lists each breach and exits with 1, and unfreezes only by force while there is one', async () => {
    const spoil = async (cents: number) => {
      await service.db.query(sql`update ledger_accounts set balance = balance + ${cents} where account = 'available'`)
    }
    await pay(100)
    // Without this, the service's own verification would freeze payouts first.
    const resume = await suspendJob(service.db, 'ledger.verify')
    await spoil(1)
    const found = await cli.run(['ledger', 'verify'])
    expect(found.code).toBe(1)
    expect(found.stdout).toMatch(/^the ledger is not consistent: 2 breaches in /)
    expect(found.stdout).toMatch(/^ {2}trial_balance: the balances add up to 1, not to 0 \(merchant /m)
    const { breaches } = await cli.runJson<{ breaches: { rule: string }[] }>(['ledger', 'verify'], 1)
    expect(breaches.map(({ rule }) => rule)).toEqual(['trial_balance', 'balance_is_sum'])

    await cli.read(['ledger', 'stop', '--reason', 'a breach'])
    await cli.expectFailure(['ledger', 'release'], /still has breaches, so nothing is released.*\n {2}trial_balance: /)
    expect(await cli.read(['ledger', 'release', '--force'])).toContain(
      'the service freezes payouts again at its next verification',
    )
    const last = (await cli.runJson<Acted[]>(['audit', 'list', '--last', '1']))[0]
    expect(last).toMatchObject({ action: 'payouts.release', details: { reason: 'a breach', breaches: 2 } })
    await spoil(-1)
    await resume()
  })
})

describe('guiche withdrawal', () => {
  it('sets limits, keeps withdrawals above them pending review, and sends approved ones', async () => {
    await pay(50_000)
    const set = ['withdrawal', 'limits', '--client', client]
    const limits = await cli.read([...set, '--per-withdrawal', '20000', '--approval-above', '1000'])
    expect(limits).toMatch(/^perWithdrawal +R\$ 200,00\nperDay +none\nperNight +none\napprovalAbove +R\$ 10,00$/m)
    expect(await cli.read(set)).toBe(limits)
    expect(await withdraw(20_001)).toMatchObject({ status: 422, body: { code: 'withdrawal_not_possible' } })
    const { id } = (await withdraw(1001)).body

    const pending = await cli.read(['withdrawal', 'list', '--pending-review'])
    expect(pending).toMatch(new RegExp(`^${id} +${client} +PENDING +approval +R\\$ 10,01 `, 'm'))
    const { summary } = await cli.runJson<Explained>(['withdrawal', 'explain', id])
    expect(summary).toContain(`PENDING: R$ 10,01 is more than may be sent without the operator's approval.`)
    expect(await cli.read(['withdrawal', 'approve', id])).toContain('The service sends it within seconds.')
    await untilWithdrawal(id, 'PROCESSED')
    expect(await cli.runJson(['withdrawal', 'list', '--pending-review'])).toEqual([])
    expect((await explain(id)).summary).toMatch(/^PROCESSED: R\$ 10,01 was sent at /)
    expect((await auditOf(id)).map(({ action }) => action)).toEqual(['withdrawal.approve'])
    await cli.expectFailure(['withdrawal', 'approve', id], /is PROCESSED, and only a PENDING withdrawal/)

    expect(await cli.runJson([...set, '--per-withdrawal', 'none', '--approval-above', 'none'])).toEqual({
      clientId: client,
      proposal: null,
      perWithdrawal: null,
      perDay: null,
      perNight: null,
      approvalAbove: null,
      operatorApprovalAbove: 0,
      duplicateWindowSeconds: 600,
    })
  })

  it('releases the money of a rejected one, and its timeline has the reason', async () => {
    await pay(5000)
    const key = 'twice@example.com'
    await untilWithdrawal((await withdraw(1000, key)).body.id, 'PROCESSED')
    const before = await balances()
    const { id } = (await withdraw(1000, key)).body
    expect((await explain(id)).summary).toContain('PENDING: it looks like a duplicate')
    await cli.expectFailure(['withdrawal', 'reject', id], /required option '--reason <reason>' not specified/)
    expect(await cli.runJson(['withdrawal', 'reject', id, '--reason', 'sent twice'])).toMatchObject({
      status: 'REJECTED',
    })
    expect(await balances()).toMatchObject({ available: before.available })
    const { summary, timeline } = await explain(id)
    expect(summary).toContain('REJECTED: it was rejected before it was sent')
    expect(timeline.map(({ what }) => what)).toContain(`cli:${userInfo().username} withdrawal.reject: sent twice`)
    await cli.expectFailure(['withdrawal', 'reject', randomUUID(), '--reason', 'x'], /There is no withdrawal/)
  })
})

describe('guiche infraction', () => {
  it('blocks a payment, and releases it when the dispute is rejected', async () => {
    const id = await pay(3000)
    const before = await balances()
    const open = ['infraction', 'open', '--transaction', id]
    await cli.expectFailure([...open, '--amount', '3001'], /amount must be from 1 to 3000 cents/)
    expect(await cli.read([...open, '--reason', 'not the payer', '--as', 'joao'])).toMatch(/^state +open$/m)
    expect(await balances()).toMatchObject({ available: before.available - 3000, blocked: 3000 })
    expect((await explain(id)).summary).toMatch(/^BLOCKED: the payer's bank disputes R\$ 30,00, since /)
    expect(await cli.runJson(['infraction', 'reject', '--transaction', id])).toMatchObject({ state: 'rejected' })
    expect(await balances()).toMatchObject({ available: before.available, blocked: 0 })
    const { summary, timeline } = await explain(id)
    expect(summary).toContain('It was disputed; the dispute was rejected or canceled.')
    expect(timeline.filter(({ kind }) => kind === 'dispute').map(({ what }) => what)).toEqual([
      'of R$ 30,00 opened',
      'of R$ 30,00 rejected',
    ])
    expect((await auditOf(id)).map(({ actor, action }) => [actor, action])).toEqual([
      ['cli:joao', 'infraction.open'],
      [`cli:${userInfo().username}`, 'infraction.reject'],
    ])
  })

  it('keeps the money of an accepted dispute blocked', async () => {
    const id = await pay(700)
    await cli.runJson(['infraction', 'open', '--transaction', id, '--amount', '500'])
    expect(await cli.runJson(['infraction', 'accept', '--transaction', id])).toMatchObject({ state: 'accepted' })
    expect((await explain(id)).summary).toContain(
      'PROCESSING_INFRACTION: the dispute of R$ 5,00 was accepted; the amount stays blocked',
    )
    await cli.expectFailure(['infraction', 'accept', '--transaction', id], /already accepted/)
    expect((await auditOf(id)).map(({ action }) => action)).toEqual(['infraction.open', 'infraction.accept'])
  })

  it('decides one of several disputes by its id, and lists them without it', async () => {
    const id = await pay(900)
    const open = async (...of: string[]) =>
      (await cli.runJson<{ id: string }>(['infraction', 'open', '--transaction', id, ...of])).id
    const [first, second] = [await open('--amount', '500', '--reason', 'first'), await open('--amount', '300')]
    const reject = ['infraction', 'reject', '--transaction', id]
    const deadline = String.raw`to be decided by \d{4}-\d\d-\d\dT[\d:.]+Z`
    const list = new RegExp(`${first} +R\\$ 5,00 · ${deadline} · first\n${second} +R\\$ 3,00 · ${deadline}`)
    await cli.expectFailure(reject, list)
    await cli.expectFailure([...reject, '--dispute', randomUUID()], list)
    expect(await cli.runJson([...reject, '--dispute', second])).toMatchObject({ id: second, state: 'rejected' })
    expect(await cli.runJson(['infraction', 'accept', '--transaction', id])).toMatchObject({ id: first })
    const decided = (await auditOf(id)).filter(({ action }) => action === 'infraction.reject')
    expect(decided).toMatchObject([{ details: { disputeId: second } }])
  })

  it('says what does not exist', async () => {
    const none = ['infraction', 'accept', '--transaction', randomUUID()]
    await cli.expectFailure(none, /There is no transaction/)
    const id = await pay(100)
    await cli.expectFailure(['infraction', 'reject', '--transaction', id], /no undecided dispute/)
  })
})

describe('guiche audit list', () => {
  it('shows who did what, and no secret', async () => {
    const made = await cli.runJson<Record<string, string>>(['client', 'create', '--name', 'Loja', '--as', 'maria'])
    await cli.runJson(['client', 'rotate-secret', made.clientId ?? ''])
    await cli.runJson(['client', 'revoke', made.clientId ?? ''])
    await cli.runJson(['rotate-signing-key'])
    const actions = await auditOf(made.merchantId ?? '')
    expect(actions.map(({ action }) => action)).toEqual(['client.create', 'client.rotate-secret', 'client.revoke'])
    const shown = await cli.read(['audit', 'list', '--last', '4'])
    expect(shown).toMatch(/^at +actor +action +recordId +merchantId +details$/m)
    expect(shown).toMatch(/cli:maria +client\.create .*clientId=gc_/)
    expect(shown).toMatch(/rotate-signing-key +- +- *$/m)
    for (const secret of ['clientSecret', 'webhookSecret']) expect(shown).not.toContain(made[secret])
    await cli.expectFailure(['audit', 'list', '--as', 'a b'], /1 to 64 letters, digits/)
  })

  it('is verified: no entry was changed, deleted or inserted', async () => {
    expect(await cli.read(['audit', 'verify'])).toMatch(
      /^the audit log is intact: \d+ entries, the last one has the hash [0-9a-f]{64}$/m,
    )
    expect(await cli.runJson(['audit', 'verify'])).toMatchObject({ breaches: [], isIntact: true })
  })

  it('has no line for refused actions', async () => {
    const count = async () => (await service.db.query(sql`select from audit_log`)).length
    const before = await count()
    await cli.expectFailure(['client', 'revoke', 'nobody'], /There is no client/)
    await cli.expectFailure(['withdrawal', 'approve', randomUUID()], /There is no withdrawal/)
    await cli.expectFailure(['infraction', 'accept', '--transaction', await pay(100)], /no undecided dispute/)
    expect(await count()).toBe(before)
  })
})

it('leaves a consistent ledger', async () => {
  await cli.runJson(['ledger', 'verify'])
})

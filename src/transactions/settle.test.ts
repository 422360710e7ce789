import { randomUUID } from 'node:crypto'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { settleDepsWith } from '../../test/support/acquirer.ts'
import {
  charge,
  chargeMany,
  eventsOf,
  fetchTransaction,
  openQuietBank,
  type QuietBank,
  statusesOf,
  untilStatus,
} from '../../test/support/payments.ts'
import { smallestTransaction, startTestService, type TestService } from '../../test/support/service.ts'
import { suspendJob } from '../../test/support/webhooks.ts'
import { type Acquirer, AcquirerUnavailable, UnreadableAnswer } from '../acquirers/acquirer.ts'
import type { HttpRequest, HttpResponse } from '../acquirers/bacen/http.ts'
import { createRegistry } from '../acquirers/registry.ts'
import { sql } from '../db/sql.ts'
import { findLedgerBreaches } from '../ledger/verify.ts'
import { toTxid } from '../pix/ids.ts'
import { findListedUntil } from './cursor-store.ts'
import { pollPayments } from './poll.ts'
import { createSettlement, type SettleDeps, settleTransaction } from './settle.ts'

let service: TestService
let bank: QuietBank
let merchantId: string
const warnings: string[] = []
beforeAll(async () => {
  service = await startTestService()
  // Only the tests read the bank's list.
  await suspendJob(service.db, 'transactions.poll')
  bank = await openQuietBank(service)
  const [client] = await service.db.query<{ merchant_id: string }>(sql`select merchant_id from clients`)
  merchantId = client?.merchant_id ?? ''
})
afterAll(async () => {
  await bank.close()
  await service.stop()
})

/** The same acquirer, whose responses a test may change. */
function depsWith(
  change: (request: HttpRequest, answer: HttpResponse) => HttpResponse | Promise<HttpResponse>,
): SettleDeps {
  return settleDepsWith(service, async (request) => await change(request, await bank.handle(request)), {
    log: pino({ level: 'warn' }, { write: (line: string) => warnings.push(line) }),
  })
}
/** What the standard answers for a record that is not there. */
const none = { status: 404, body: '{"title":"Não encontrado.","status":404}' }
const report = (endToEndId: string) => ({ acquirer: 'simulator', endToEndId })
const asItIs = () => depsWith((_, answer) => answer)

it('settles once when it is called twenty times concurrently', async () => {
  const { id, uri } = await charge(service)
  await bank.payQuietly(uri)
  const deps = asItIs()
  const outcomes = await Promise.all(
    Array.from({ length: 20 }, async () => await settleTransaction(deps, { merchantId, id })),
  )
  expect(outcomes.sort()).toEqual([...Array(19).fill('already'), 'settled'])
  expect(statusesOf(await fetchTransaction(service, id))).toEqual(['PENDING', 'PIX_QRCODE_GENERATED', 'PAID'])
  expect(await eventsOf(service, id)).toEqual(['transaction.pix_qrcode_generated', 'transaction.paid'])
})

it('asks no acquirer about a payment that is already recorded', async () => {
  const { id, uri } = await charge(service)
  const { endToEndId } = await bank.payQuietly(uri)
  await settleTransaction(asItIs(), { merchantId, id })
  const silent = depsWith(() => {
    throw new Error('no acquirer should be asked')
  })
  expect(await settleTransaction(silent, { merchantId, id })).toBe('already')
  expect(await settleTransaction(silent, { merchantId, id, reported: report(endToEndId) })).toBe('already')
})

it('changes nothing when nobody paid, or when the caller is not the owner', async () => {
  const { id, uri } = await charge(service)
  expect(await settleTransaction(asItIs(), { merchantId, id })).toBe('unpaid')
  await bank.payQuietly(uri)
  await expect(settleTransaction(asItIs(), { merchantId: id, id })).rejects.toThrow('exists')
  expect((await fetchTransaction(service, id)).status).toBe('PIX_QRCODE_GENERATED')
})

it('lists from shortly before the end of the last poll, and once more what may have appeared late', async () => {
  const stopping = new AbortController().signal
  await pollPayments(asItIs(), stopping)
  const last = service.clock.now().getTime()
  service.clock.advance(30_000)
  const ranges: number[][] = []
  const watched = depsWith(({ path, query: { inicio = '', fim = '' } }, answer) => {
    // In seconds since the last poll.
    if (path === '/pix') ranges.push([inicio, fim].map((at) => Math.round((Date.parse(at) - last) / 1_000)))
    return answer
  })
  await pollPayments(watched, stopping)
  expect(ranges).toEqual([
    [-125, -90],
    [-5, 30],
  ])
})

describe('with an acquirer that', () => {
  it('does not list the payments of a charge, it fetches the payment that the callback named', async () => {
    const { id, uri } = await charge(service)
    const { endToEndId } = await bank.payQuietly(uri)
    const deps = depsWith((request, answer) => (isCharge(request) ? change(answer, { pix: undefined }) : answer))
    expect(await settleTransaction(deps, { merchantId, id })).toBe('completed')
    expect(await settleTransaction(deps, { merchantId, id, reported: report(endToEndId) })).toBe('settled')
  })

  it('lists a payment that cannot be fetched individually yet, it asks again until it can', async () => {
    const { id, uri } = await charge(service)
    await bank.payQuietly(uri)
    const lagging = depsWith((request, answer) => {
      if (isCharge(request)) return change(answer, { pix: undefined })
      return request.path.startsWith('/pix/') ? { ...answer, ...none } : answer
    })
    await pollPayments(lagging, new AbortController().signal)
    // Without another poll: a separate job asks the acquirer, which knows the payment by now; it may have done so
    // already.
    await untilStatus(service, id, 'PAID')
  })

  it('shows a payment in its list a minute late, it finds it when it reads the range again', async () => {
    const stopping = new AbortController().signal
    const { id, uri } = await charge(service)
    await bank.payQuietly(uri)
    const hiding = depsWith((request, answer) => (request.path === '/pix' ? change(answer, { pix: [] }) : answer))
    for (let polls = 0; polls < 5; polls++) {
      await pollPayments(hiding, stopping)
      service.clock.advance(15_000)
    }
    for (let polls = 0; polls < 5; polls++) {
      await pollPayments(asItIs(), stopping)
      service.clock.advance(15_000)
    }
    expect((await fetchTransaction(service, id)).status).toBe('PAID')
  })

  it.each([
    ['500', { status: 500 }],
    ['400', { status: 400 }],
    ['403', { status: 403 }],
    ['a charge that cannot be read', { body: '{}' }],
  ])('answers %s for one charge, it reads the list to its end and asks for that one again', async (_, broken) => {
    const [bad, good] = [await charge(service), await charge(service)]
    await bank.payQuietly(bad.uri)
    await bank.payQuietly(good.uri)
    warnings.length = 0
    const deps = depsWith((request, answer) => (isChargeOf(request, bad.id) ? { ...answer, ...broken } : answer))
    service.clock.advance(1_000)
    await pollPayments(deps, new AbortController().signal)
    expect(warnings.join()).not.toContain('could not all be read and confirmed')
    expect(warnings.join()).toContain('could not be confirmed')
    expect(await findListedUntil(service.db, 'simulator')).toEqual(service.clock.now())
    expect((await fetchTransaction(service, good.id)).status).toBe('PAID')
    // Without another poll.
    await untilStatus(service, bad.id, 'PAID')
  })

  it('can show no charge, it stops reading the list before each payment has a job', async () => {
    for (const { uri } of await chargeMany(service, 40)) await bank.payQuietly(uri)
    warnings.length = 0
    const broken = depsWith((request, answer) => (isCharge(request) ? { ...answer, status: 400 } : answer))
    await pollPayments(broken, new AbortController().signal)
    expect(warnings.join()).toContain('could not all be read and confirmed')
    expect(warnings.filter((line) => line.includes('could not be confirmed')).length).toBeLessThan(20)
  })

  it('sends a part of its list and then confirms no payment, the log has both reasons', async () => {
    const { uri } = await charge(service)
    const { endToEndId } = await bank.payQuietly(uri)
    const deps = asItIs()
    const [acquirer] = deps.acquirers.all
    const payment = await acquirer?.findPayment(endToEndId)
    if (!acquirer || !payment) throw new Error('the bank shows the payment')
    const broken: Acquirer = {
      ...acquirer,
      async *listPayments() {
        yield payment
        throw new UnreadableAnswer('the second page')
      },
      isAvailable: () => false,
      findCharge: async () => await Promise.reject(new AcquirerUnavailable('the charge')),
    }
    const log = pino({ level: 'warn' }, { write: (line: string) => warnings.push(line) })
    warnings.length = 0
    await pollPayments({ ...deps, log, acquirers: createRegistry([broken]) }, new AbortController().signal)
    expect(warnings.map((line) => JSON.parse(line))).toMatchObject([
      { level: 40, err: { message: 'the charge' }, msg: expect.stringContaining('could not be settled') },
      { level: 50, reason: 'the second page', msg: expect.stringContaining('look them up at the acquirer') },
    ])
  })

  it('returns a txid in capital letters, it recognises its own', async () => {
    const { id, uri } = await charge(service)
    const { endToEndId } = await bank.payQuietly(uri)
    const txid = toTxid(id).toUpperCase()
    const deps = depsWith((request, answer) => {
      if (isCharge(request)) return change(answer, { txid, pix: undefined })
      return request.path.startsWith('/pix/') ? change(answer, { txid }) : answer
    })
    expect(await settleTransaction(deps, { merchantId, id, reported: report(endToEndId) })).toBe('settled')
  })

  it('gives no usable answer, it leaves the transaction unchanged and reports an unknown outcome', async () => {
    const { id, uri } = await charge(service)
    await bank.payQuietly(uri)
    for (const broken of [{ status: 503 }, { status: 429 }, { body: '<html>' }, { status: 401 }]) {
      const deps = depsWith((request, answer) => (isCharge(request) ? { ...answer, ...broken } : answer))
      await expect(settleTransaction(deps, { merchantId, id })).rejects.toBeInstanceOf(AcquirerUnavailable)
    }
    expect((await fetchTransaction(service, id)).status).toBe('PIX_QRCODE_GENERATED')
    expect(await settleTransaction(asItIs(), { merchantId, id })).toBe('settled')
  })

  it.each([
    ['shows no code of a paid charge', (answer: HttpResponse) => change(answer, withoutCode)],
    ['shows a payment and no charge', (answer: HttpResponse) => ({ ...answer, ...none })],
  ])('%s, it records the payment of a transaction without a code, and returns no code', async (_, toAnswer) => {
    const input = { idempotencyKey: randomUUID() }
    const { id, uri } = await charge(service, input)
    // The state of the row when the acquirer did not respond.
    await service.db.query(sql`delete from events where record_id = ${id}`)
    await service.db.query(sql`
      update transactions set statuses = array['PENDING'], status_dates = status_dates[1:1], pix_uri = null, pix_expires_at = null
      where id = ${id}`)
    const { endToEndId } = await bank.payQuietly(uri)
    const deps = depsWith((request, answer) => (isCharge(request) ? toAnswer(answer) : answer))
    expect(await settleTransaction(deps, { merchantId, id, reported: report(endToEndId) })).toBe('settled')
    const paid = await fetchTransaction(service, id)
    expect(paid).toMatchObject({
      status: 'PAID',
      endToEnd: endToEndId,
      pixResponse: { uri: null, qrCodeBase64: null, expirationDate: null },
    })
    expect(statusesOf(paid)).toEqual(['PENDING', 'PIX_QRCODE_GENERATED', 'PAID'])
    expect(await eventsOf(service, id)).toEqual(['transaction.pix_qrcode_generated', 'transaction.paid'])
    expect(await service.call('/transaction', { body: smallestTransaction(input) })).toMatchObject({
      status: 500,
      body: {
        code: 'acquirer_unavailable',
        transactionId: id,
        detail: expect.stringMatching(/was paid.* does not help: fetch/),
      },
    })
  })

  it.each(['\0', '\ud83d'])('sends a name that PostgreSQL cannot read (%j), it leaves the payer out', async (bad) => {
    const { id, uri } = await charge(service)
    const pagador = {
      ...{ cpf: '52998224725', nome: `Maria${bad}`, ispbParticipante: '60701190', tipoConta: 'CHECKING' },
      ...{ agencia: '1', conta: '2', digito: '3', tipoChave: 'CPF', chave: '52998224725' },
    }
    const pix = [{ ...(await bank.payQuietly(uri)), pagador }]
    const deps = depsWith((request, answer) => (isCharge(request) ? change(answer, { pix }) : answer))
    expect(await settleTransaction(deps, { merchantId, id })).toBe('settled')
    const rows = await service.db.query(sql`select payer ->> 'name' as name from transactions where id = ${id}`)
    expect(rows).toEqual([{ name: null }])
  })

  it('reports a second payment of a charge, it records only the first and logs a warning', async () => {
    const { id, uri } = await charge(service)
    const first = await bank.payQuietly(uri)
    const second = {
      ...first,
      endToEndId: `${first.endToEndId.slice(0, -1)}${first.endToEndId.endsWith('0') ? '1' : '0'}`,
    }
    const deps = depsWith((request, answer) => (isCharge(request) ? change(answer, { pix: [first, second] }) : answer))
    const settle = async (one: string) => await settleTransaction(deps, { merchantId, id, reported: report(one) })
    const outcomes = await Promise.all([settle(first.endToEndId), settle(second.endToEndId)])
    expect(outcomes.sort()).toEqual(['duplicate', 'settled'])
    expect(warnings.join()).toContain('a transaction was paid a second time')
    expect(await eventsOf(service, id)).toEqual(['transaction.pix_qrcode_generated', 'transaction.paid'])
  })
})

const withoutCode = { pixCopiaECola: undefined, location: undefined, loc: undefined }

function isCharge(request: HttpRequest): boolean {
  return request.path.startsWith('/cob/')
}

function isChargeOf(request: HttpRequest, id: string): boolean {
  return request.path === `/cob/${toTxid(id)}`
}

/** The response with these fields of its body replaced. */
function change(answer: HttpResponse, members: Record<string, unknown>): HttpResponse {
  return { ...answer, body: JSON.stringify({ ...JSON.parse(answer.body), ...members }) }
}

describe('payments that are confirmed at the same time', () => {
  /** Paid at the bank and confirmed, but not recorded. */
  async function confirmMany(count: number) {
    const acquirer = asItIs().acquirers.named('simulator')
    const confirmed = []
    for (const { id, uri } of await chargeMany(service, count)) {
      await bank.payQuietly(uri)
      const found = await acquirer.findCharge(toTxid(id))
      const payment = found?.payments[0]
      if (payment) confirmed.push({ merchantId, id, payment, charge: found, acquirer })
    }
    expect(confirmed).toHaveLength(count)
    return confirmed
  }
  const idsOf = (confirmed: { id: string }[]) => confirmed.map(({ id }) => id)
  const findRows = async (ids: string[]) =>
    await service.db.query<{ status: string; commit: string }>(sql`
      select status, xmin::text as commit from transactions where id = any(${ids})`)

  it('share one commit, each with its own history, event and transfers', async () => {
    const { recordPayment } = createSettlement(service)
    const confirmed = await confirmMany(12)
    // One of them is reported twice, and one belongs to another merchant.
    const [first] = confirmed
    const reported = [...confirmed, ...(first ? [first, { ...first, merchantId: first.id }] : [])]
    const outcomes = await Promise.all(reported.map(recordPayment))
    expect(outcomes).toEqual([...confirmed.map(() => 'settled'), 'already', null])
    expect(new Set((await findRows(idsOf(confirmed))).map(({ commit }) => commit)).size).toBe(1)
    for (const { id } of confirmed) {
      expect(statusesOf(await fetchTransaction(service, id))).toEqual(['PENDING', 'PIX_QRCODE_GENERATED', 'PAID'])
      expect(await eventsOf(service, id)).toEqual(['transaction.pix_qrcode_generated', 'transaction.paid'])
    }
    const [posted] = await service.db.query(sql`
      select count(*) as count, sum(amount) as sum from ledger_transfers where record_id = any(${idsOf(confirmed)})`)
    expect(posted).toEqual({ count: 12, sum: 12_000 })
    expect(await findLedgerBreaches(service.db)).toEqual([])
  })

  it('are recorded without the one that cannot be', async () => {
    const confirmed = await confirmMany(5)
    const [bad, ...others] = confirmed
    const alreadyPaid = await charge(service)
    await service.db.query(sql`
      update transactions set end_to_end = ${bad?.payment.endToEndId ?? ''}, amount_paid = 1, payment_date = now()
      where id = ${alreadyPaid.id}`)
    const outcomes = await Promise.allSettled(confirmed.map(createSettlement(service).recordPayment))
    expect(outcomes.map((one) => (one.status === 'fulfilled' ? one.value : String(one.reason)))).toEqual([
      expect.stringContaining('transactions_end_to_end'),
      ...others.map(() => 'settled'),
    ])
    const [posted] = await service.db.query(sql`
      select count(*) as count from ledger_transfers where record_id = any(${idsOf(confirmed)})`)
    expect(posted).toEqual({ count: others.length })
    expect((await findRows(idsOf(others))).every(({ status }) => status === 'PAID')).toBe(true)
  })

  it('by two processes in opposite orders are each recorded once', async () => {
    const confirmed = await confirmMany(24)
    const [one, other] = [createSettlement(service), createSettlement(service)]
    const outcomes = await Promise.all([
      ...confirmed.map(one.recordPayment),
      ...confirmed.toReversed().map(other.recordPayment),
    ])
    expect(outcomes.filter((one) => one === 'settled')).toHaveLength(24)
    expect(outcomes.filter((one) => one === 'already')).toHaveLength(24)
    const [posted] = await service.db.query(sql`
      select count(*) as count from ledger_transfers where record_id = any(${idsOf(confirmed)})`)
    expect(posted).toEqual({ count: 24 })
    expect((await findRows(idsOf(confirmed))).every(({ status }) => status === 'PAID')).toBe(true)
    expect(await findLedgerBreaches(service.db)).toEqual([])
  })
})

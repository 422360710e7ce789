import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { PeriodFigures } from '../../src/dashboard/report-schema.ts'
import { sql } from '../../src/db/sql.ts'
import { charge, payAt, untilStatus } from '../support/payments.ts'
import { readPdf, readZip } from '../support/read-files.ts'
import { payOne, refund, setFixedFee, untilRefund } from '../support/refunds.ts'
import { addTestClient, type Problem } from '../support/requests.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { type Browser, findSandboxMerchant, inviteUser, openBrowser, password } from '../support/users.ts'
import { expectLedgerConsistent, untilWithdrawal, withdraw, withRenewedToken } from '../support/withdrawals.ts'

// March and April in Brasília: a charge that was created in one and paid in the other, fees that change within March,
// a refund that returns a fee, and a withdrawal.
let service: TestService
let merchantId: string
let owner: Browser
let operator: Browser
let outsider: Browser
let late: string

const minute = 60_000
const march = 'from=2026-03-01&until=2026-03-31'
const april = 'from=2026-04-01&until=2026-04-30'

beforeAll(async () => {
  service = withRenewedToken(await startTestService({ environment: { TOKEN_LIFETIME_SECONDS: '86400' } }))
  merchantId = await findSandboxMerchant(service)
  await setFixedFee(service, 'transaction', 100)
  await setFixedFee(service, 'refund', 30, { returns_payment_fee: true })
  await setFixedFee(service, 'withdrawal', 80)
  await payOne(service, 50_000, { more: { externalCode: 'pedido-1 & café', description: 'x' } })
  const refunded = await payOne(service, 10_000)
  service.clock.advance(minute)
  await setFixedFee(service, 'transaction', 45)
  service.clock.advance(minute)
  await payOne(service, 2_000, { more: { externalCode: 'pedido-2' } })
  await untilRefund(service, refunded.id, await refund(service, refunded.id, { amount: 4_000 }), 'REFUNDED')
  await untilWithdrawal(service, await withdraw(service, { amount: 20_000, externalCode: 'saque-0001' }), 'PROCESSED')
  // Ten minutes before April, in Brasília.
  service.clock.set(new Date('2026-04-01T02:50:00Z'))
  // The same fee is agreed again.
  await setFixedFee(service, 'transaction', 45)
  const { id, uri } = await charge(service, { amount: 3_000, externalCode: 'virada-1' })
  late = id
  service.clock.advance(20 * minute)
  await payAt(service, uri)
  await untilStatus(service, id, 'PAID')
  const another = await addTestClient(service)
  owner = await signInAs('owner', merchantId)
  operator = await signInAs('finance')
  outsider = await signInAs('owner', another.merchantId)
})
afterAll(async () => {
  await expectLedgerConsistent(service)
  await service.stop()
})

async function signInAs(role: string, ofMerchant: string | null = null): Promise<Browser> {
  return await openBrowser(service, { email: await inviteUser(service, { role, merchantId: ofMerchant }), password })
}

async function report(path: string, person = owner): Promise<string> {
  const answer = await person.call(`/dashboard/api/report/${path}`)
  expect(answer.status, answer.text.slice(0, 300)).toBe(200)
  return answer.text
}

/** The lines of a CSV by the names of its columns. No cell of these tests has a separator. */
async function rows(path: string, person = owner): Promise<Record<string, string>[]> {
  const [head = [], ...lines] = (await report(path, person))
    .trimEnd()
    .split('\r\n')
    .map((line) => line.split(','))
  return lines.map((cells) => Object.fromEntries(head.map((name, index) => [name, cells[index] ?? ''])))
}

describe('the transactions of a period', () => {
  it('are those that were created, paid or posted in it, by the days of Brasília', async () => {
    const codes = async (period: string, by: string) =>
      (await rows(`transactions?${period}&by=${by}&format=csv`)).map(({ external_code: code }) => code)
    const ofMarch = await codes(march, 'created')
    expect(ofMarch.toSorted()).toEqual(['', 'pedido-1 & café', 'pedido-2', 'virada-1'])
    expect(await codes(april, 'created')).toEqual([])
    for (const by of ['paid', 'posted']) {
      expect(await codes(march, by), by).toEqual(['pedido-2', '', 'pedido-1 & café'])
      expect(await codes(april, by), by).toEqual(['virada-1'])
    }
  })

  it('have what an accountant needs of each', async () => {
    const [paid] = await rows(`transactions?${april}&by=posted&format=csv`)
    const { body } = await service.call<{ endToEnd: string; payer: { name: string; document: string } }>(
      `/transaction/${late}`,
    )
    expect(paid).toMatchObject({
      ...{ id: late, status: 'PAID', external_code: 'virada-1', end_to_end: body.endToEnd },
      ...{ amount_paid_cents: '3000', fee_cents: '45', net_cents: '2955', amount_refunded_cents: '0' },
      ...{ payer_name: body.payer.name, payer_document: body.payer.document, amount_returned_cents: '0' },
    })
    expect(paid?.posted_at).toMatch(/^2026-04-01T03:10/)
    const refunded = (await rows(`transactions?${march}&format=csv`)).find((row) => row.external_code === '')
    expect(refunded).toMatchObject({ amount_paid_cents: '10000', fee_cents: '100', amount_refunded_cents: '4000' })
  })

  it('open in Excel as Brazilians write them', async () => {
    const path = `/dashboard/api/report/transactions?${april}&by=posted&format=excel&language=pt`
    const answer = await fetch(`${service.baseUrl}${path}`, { headers: { cookie: owner.cookie } })
    const file = Buffer.from(await answer.arrayBuffer())
    const [head, line] = file.toString('utf8').split('\r\n')
    expect(head).toMatch(/^\ufeffId;Criado em;Situação;Valor;.*;Valor líquido;Lançado em$/)
    expect(line).toContain(';31/03/2026 23:50:00;Paga;30,00;30,00;0,00;0,45;01/04/2026 00:10:00;')
    expect(line).toContain(';29,55;01/04/2026 00:10:')
  })
})

it('exports withdrawals with their receiver, by creation, completion and posting', async () => {
  for (const by of ['created', 'paid', 'posted']) {
    const [line, ...more] = await rows(`withdrawals?${march}&by=${by}&format=csv`)
    expect(line, by).toMatchObject({ external_code: 'saque-0001', amount_cents: '20000', fee_cents: '80' })
    expect(line?.receiver_name).not.toBe('')
    expect(line?.posted_at).toMatch(/^2026-03-02T15:02/)
    expect(more).toEqual([])
    expect(await rows(`withdrawals?${april}&by=${by}&format=csv`)).toEqual([])
  }
})

it('names the payment and the order of each entry of the statement, and its kind in words for Excel', async () => {
  const entries = await rows(`statement?${march}&format=csv`)
  const payment = entries.find((entry) => entry.external_code === 'pedido-2' && entry.kind === 'payment')
  expect(payment?.end_to_end).toMatch(/^E\w{31}$/)
  const withdrawal = entries.find(({ kind }) => kind === 'withdrawal_reserved')
  expect(withdrawal).toMatchObject({ external_code: 'saque-0001', amount_cents: '-20080' })
  expect(await report(`statement?${march}&format=excel&language=pt`)).toContain(';Saque: reservado;-200,80;')
})

describe('the fee statement', () => {
  const periodOf = async (period: string, person = owner, more = '') =>
    (await person.call<PeriodFigures & Problem>(`/dashboard/api/report/period?${period}${more}`)).body

  it('has a line for each operation under each agreed fee, and adds up to the ledger', async () => {
    const { fees, ...figures } = await periodOf(march)
    const lines = fees.lines.map(({ operation, rule, count, volume, fee }) => [
      ...[operation, rule?.fixed ?? null, count, volume, fee],
    ])
    expect(lines).toEqual([
      ['transaction', 100, 2, 60_000, 200],
      ['transaction', 45, 1, 2_000, 45],
      ['refund', 30, 1, 4_000, 30],
      ['withdrawal', 80, 1, 20_000, 80],
      ['fee_returned', null, 1, null, -40],
    ])
    expect(fees.total).toBe(315)
    const whole = await periodOf('from=2026-01-01&until=2026-12-31')
    expect(whole.fees.total).toBe(360)
    const ofPayments = whole.fees.lines.filter(({ operation }) => operation === 'transaction')
    expect(ofPayments.map(({ rule, count, fee }) => [rule?.fixed, count, fee])).toEqual([
      [100, 2, 200],
      [45, 2, 90],
    ])
    // The operator has drawn nothing: the account has what was charged.
    const [account] = await service.db.query<{ balance: number }>(sql`
      select balance from ledger_accounts where merchant_id = ${merchantId} and account = 'fees'`)
    expect(whole.fees.total).toBe(account?.balance)
    expect((await periodOf(april)).fees.total).toBe(45)
    const changed = figures.changes.reduce((sum, { amount }) => sum + amount, 0)
    expect([figures.opening, figures.closing]).toEqual([0, changed])
    expect((await periodOf(april)).opening).toBe(figures.closing)
    const now = await service.call<{ available: number }>('/balance')
    expect(whole.closing).toBe(now.body.available)
  })

  it('is the same as a file', async () => {
    const lines = await rows(`fees?${march}&format=csv`)
    expect(lines.reduce((sum, line) => sum + Number(line.fee_cents), 0)).toBe(315)
    expect(await report(`fees?${march}&format=excel&language=pt`)).toContain('Pagamentos;1,00;0;0,00;;2;600,00;2,00')
  })

  it('is a PDF with the same lines and total, that names the merchant', async () => {
    const path = `/dashboard/api/report/fees?${march}&format=pdf&language=pt`
    const answer = await fetch(`${service.baseUrl}${path}`, { headers: { cookie: owner.cookie } })
    expect(answer.headers.get('content-type')).toBe('application/pdf')
    expect(answer.headers.get('content-disposition')).toBe('attachment; filename="tarifas-2026-03-01-2026-03-31.pdf"')
    const text = readPdf(Buffer.from(await answer.arrayBuffer()))
    for (const part of ['Extrato de tarifas', 'estornadas', 'R$ 600,00', '-R$ 0,40', 'R$ 3,15'])
      expect(text).toContain(part)
  })

  it('is that of one merchant', async () => {
    expect((await periodOf(march, outsider, `&clientId=${service.sandbox.clientId}`)).fees).toMatchObject({ total: 0 })
    expect((await periodOf(march, operator, `&clientId=${service.sandbox.clientId}`)).fees.total).toBe(315)
    const unnamed = await operator.call<Problem>(`/dashboard/api/report/period?${march}`)
    expect([unnamed.status, unnamed.body.errors?.[0]?.field]).toEqual([422, 'clientId'])
  })
})

describe('the statement for an accounting program', () => {
  const ofx = async (period: string, person = owner) => {
    const path = `/dashboard/api/report/statement?${period}&format=ofx&language=pt`
    const answer = await fetch(`${service.baseUrl}${path}`, { headers: { cookie: person.cookie } })
    expect(answer.status).toBe(200)
    return parseOfx(Buffer.from(await answer.arrayBuffer()))
  }

  it('has each entry once under a number that stays, and the balance of the ledger at its end', async () => {
    const { head, entries, balance } = await ofx(march)
    expect(head).toMatchObject({ OFXHEADER: '100', VERSION: '102', ENCODING: 'USASCII', CHARSET: '1252' })
    const at = '2026-03-31T23:59:59.999-03:00'
    const ledger = await service.call<{ available: number }>(`/balance?at=${encodeURIComponent(at)}`)
    expect(balance).toBe(ledger.body.available)
    expect(entries.reduce((sum, { amount }) => sum + amount, 0)).toBe(balance)
    const listed = await rows(`statement?${march}&format=csv`)
    expect(entries.map(({ id, amount }) => [id, String(amount)])).toEqual(
      listed.map((row) => [row.id, row.amount_cents]),
    )
    expect(new Set(entries.map(({ id }) => id)).size).toBe(entries.length)
    const payment = entries.find(({ memo }) => memo === 'Pagamento - pedido-1 & café')
    expect(payment).toMatchObject({ amount: 50_000, type: 'CREDIT' })
    expect(payment?.at).toBe('20260302120000[-3:BRT]')
  })

  it('continues where that of the month before ends, without an entry of it', async () => {
    const [before, after] = [await ofx(march), await ofx(april)]
    const known = new Set(before.entries.map(({ id }) => id))
    expect(after.entries.filter(({ id }) => known.has(id))).toEqual([])
    const change = after.entries.reduce((sum, { amount }) => sum + amount, 0)
    expect(after.balance).toBe(before.balance + change)
    expect((await ofx(april)).entries).toEqual(after.entries)
  })

  it('of another merchant has none of these entries', async () => {
    expect(await ofx(march, outsider)).toMatchObject({ entries: [], balance: 0 })
  })
})

it('puts all files of a month into one ZIP file', async () => {
  const path = `/dashboard/api/report/month.zip?${march}&by=posted&language=pt`
  const answer = await fetch(`${service.baseUrl}${path}`, { headers: { cookie: owner.cookie } })
  const bytes = Buffer.from(await answer.arrayBuffer())
  expect(answer.headers.get('content-disposition')).toContain('fechamento-2026-03-01-2026-03-31.zip')
  const files = readZip(bytes)
  const days = '2026-03-01-2026-03-31'
  expect([...files.keys()]).toEqual(
    ['transacoes-?.csv', 'saques-?.csv', 'extrato-?.csv', 'extrato-?.ofx', 'tarifas-?.csv', 'tarifas-?.pdf'].map(
      (name) => name.replace('?', days),
    ),
  )
  const alone = await fetch(`${service.baseUrl}/dashboard/api/report/statement?${march}&format=ofx&language=pt`, {
    headers: { cookie: owner.cookie },
  })
  expect(files.get(`extrato-${days}.ofx`)).toEqual(Buffer.from(await alone.arrayBuffer()))
  expect(readPdf(files.get(`tarifas-${days}.pdf`) ?? Buffer.of())).toContain('R$ 3,15')
})

it('says that no mail is sent without a mail server, and begins no sending', async () => {
  const path = '/dashboard/api/report/schedule'
  const { body } = await owner.call<{ hasMail: boolean; candidates: { id: string }[] }>(path)
  expect(body.hasMail).toBe(false)
  const schedule = { id: randomUUID(), report: 'fees', format: 'pdf', every: 'day', by: 'posted', language: 'pt' }
  const made = await owner.call<Problem>(path, { body: { ...schedule, recipients: [body.candidates[0]?.id] } })
  expect(made.status, made.text).toBe(201)
  await service.db.query(sql`update report_schedules set due_at = ${new Date(0)}`)
  await service.runJob('reports.due')
  expect(await service.db.query(sql`select from report_sendings`)).toEqual([])
})

it('refuses a period that ends before it begins, is too long or no period, and a format that a report lacks', async () => {
  const wrong = [
    ...['from=2026-03-31&until=2026-03-01', 'from=2024-01-01&until=2026-03-01', 'from=2026-02-30&until=2026-03-01'],
    ...['from=yesterday!&until=2026-03-01', 'from=2026-03-01'],
  ].map((period) => `statement?${period}&format=csv`)
  for (const path of [...wrong, `statement?${march}&format=pdf`, `transactions?${march}&format=ofx`])
    expect((await owner.call(`/dashboard/api/report/${path}`)).status, path).toBe(422)
})

it('shows the balances at the end of each day', async () => {
  const days = await owner.call<{ data: { day: string; available: number; reserved: number }[] }>(
    '/dashboard/api/balance-history?days=40',
  )
  const rowOf = (day: string) => days.body.data.find((one) => one.day === day)
  expect(days.body.data).toHaveLength(40)
  expect(rowOf('2026-03-01')).toMatchObject({ available: 0 })
  const closing = await service.call<{ available: number }>('/balance?at=2026-03-20T12:00:00Z')
  expect(rowOf('2026-03-02')).toMatchObject({ available: closing.body.available, reserved: 0 })
  expect(rowOf('2026-03-31')).toMatchObject({ available: closing.body.available })
  expect(days.body.data.at(-1)).toMatchObject({ day: '2026-04-01', available: closing.body.available + 2_955 })
})

/** Reads OFX 1.02 with closed elements, in the character set that its head names. */
function parseOfx(file: Buffer) {
  const text = new TextDecoder('windows-1252').decode(file)
  const [top = '', body = ''] = text.split('\r\n\r\n')
  const decode = (value: string) => value.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&')
  const get = (part: string, name: string) => decode(new RegExp(`<${name}>([^<]*)</${name}>`).exec(part)?.[1] ?? '')
  const toCents = (amount: string) => Math.round(Number(amount) * 100)
  return {
    head: Object.fromEntries(top.split('\r\n').map((line) => line.split(':'))),
    entries: Array.from(body.matchAll(/<STMTTRN>([\s\S]*?)<\/STMTTRN>/g), ([, part = '']) => ({
      ...{ id: get(part, 'FITID'), amount: toCents(get(part, 'TRNAMT')), type: get(part, 'TRNTYPE') },
      ...{ at: get(part, 'DTPOSTED'), memo: get(part, 'MEMO') },
    })),
    balance: toCents(get(/<LEDGERBAL>([\s\S]*?)<\/LEDGERBAL>/.exec(body)?.[1] ?? '', 'BALAMT')),
  }
}

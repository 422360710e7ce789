import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sql } from '../../src/db/sql.ts'
import type { Explanation } from '../../src/explain/explain.ts'
import { dayBefore, dayOf, windowOf } from '../../src/lib/brasilia.ts'
import { findBreaches } from '../../src/verification.ts'
import { manualClock } from '../support/clock.ts'
import { type CommandLine, openCommandLine } from '../support/command-line.ts'
import { payOne, requestRefund } from '../support/refunds.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { findSandboxMerchant, inviteUser, openBrowser, password } from '../support/users.ts'

type Discrepancy = { id: string; class: string; reference: string; state: string; decidedBy: string | null }

// The command line is a process with the real time: the service's clock is a day behind it.
const day = dayBefore(dayOf(new Date()))
const noon = new Date(windowOf(day).from.getTime() + 12 * 60 * 60_000)

let service: TestService
let cli: CommandLine
let folder: string
let [changed, gone] = ['', '']
let right: { id: string; endToEnd: string }

beforeAll(async () => {
  service = await startTestService({
    clock: manualClock(noon),
    environment: { TOKEN_LIFETIME_SECONDS: '86400' },
  })
  cli = await openCommandLine(service)
  folder = await mkdtemp(join(tmpdir(), 'guiche-close-'))
  right = await payOne(service, 5000)
  changed = (await payOne(service, 2000)).endToEnd
  gone = (await payOne(service, 3000)).endToEnd
  // The bank's own records, changed as if it had made a mistake.
  await service.db.query(sql`update simulator.pix set amount = 1900 where end_to_end_id = ${changed}`)
  await service.db.query(sql`delete from simulator.pix where end_to_end_id = ${gone}`)
}, 300_000)
afterAll(async () => {
  await cli.stop()
  await service.stop()
  await rm(folder, { recursive: true, force: true })
})

type Entry = { recordId: string; amount: number; transactionId: string | null; description: string | null }
/** What the merchant sees of a record in its statement. */
const entriesOf = async (id: string) => {
  const { data } = (await service.call<{ data: Entry[] }>('/statement?kind=correction')).body
  return data
    .filter(({ recordId }) => recordId === id)
    .map(({ amount, transactionId, description }) => ({ amount, transactionId, description }))
}
const listOpen = async () => await cli.runJson<Discrepancy[]>(['reconcile', 'list', '--open'])

describe('guiche reconcile', () => {
  it('compares a day and shows discrepancies, with proposals', async () => {
    const text = await cli.read(['reconcile', '--from', day, '--to', day])
    expect(text).toMatch(
      /simulator, .* to .*\n3 payments, 0 payments with returns, 0 payouts compared\n2 open, 2 of them new or open again/,
    )
    expect(text).toMatch(
      new RegExp(`amount +${changed} +R\\$ 19,00 .* R\\$ 20,00 .* correct the merchant by -R\\$ 1,00`),
    )
    expect(text).toMatch(
      new RegExp(`missing_at_acquirer +${gone} +nothing +R\\$ 30,00 .* correct the merchant by -R\\$ 30,00`),
    )
    const [again] = await cli.runJson<{ newCount: number; counts: object }[]>([
      ...['reconcile', 'run', '--acquirer', 'simulator', '--from', day, '--to', day],
    ])
    expect(again).toMatchObject({ newCount: 0, counts: { amount: 1, missing_at_acquirer: 1 } })
  })

  it('corrects confirmed discrepancies and leaves dismissed ones, both in the audit log', {
    timeout: 300_000,
  }, async () => {
    const open = await listOpen()
    const find = (name: string) => open.find((one) => one.class === name)?.id ?? ''
    expect(await cli.read(['reconcile', 'show', find('amount')])).toMatch(/class +amount: both sides have the payment/)
    const confirmed = await cli.read(['--as', 'maria', 'reconcile', 'confirm', find('amount')])
    expect(confirmed).toMatch(/confirmed/)
    await cli.expectFailure(
      ['reconcile', 'confirm', find('amount')],
      /is confirmed since .*: nothing is left to decide/,
    )
    const reason = 'the bank has lost it and pays'
    const [dismissed] = [
      await cli.runJson<Discrepancy>(['reconcile', 'dismiss', find('missing_at_acquirer'), '--reason', reason]),
    ]
    expect(dismissed).toMatchObject({ state: 'dismissed', decidedBy: expect.stringMatching(/^cli:/) })
    expect(await listOpen()).toEqual([])
    const actions = await cli.read(['audit', 'list', '--record', find('amount')])
    expect(actions).toMatch(/cli:maria +reconcile\.confirm .*class=amount .*cents=-100/)
    expect(await findBreaches(service.db)).toEqual([])
    await cli.expectFailure(['reconcile', '--acquirer', 'nobody'], /no acquirer nobody. Configured: simulator/)
    const [entry] = await entriesOf(find('amount'))
    const { statement, timeline } = await cli.runJson<Explanation>([
      ...['transaction', 'explain', entry?.transactionId ?? ''],
    ])
    expect(statement).toMatchObject({ net: 1900 })
    const explained = timeline.map(({ what }) => what)
    expect(explained).toContain('correction R$ 1,00, available → acquirer')
    expect(explained).toContain('cli:maria reconcile.confirm')
    expect(await entriesOf(find('amount'))).toEqual([
      {
        amount: -100,
        transactionId: expect.any(String),
        description: expect.stringContaining(`differed about the payment ${changed}`),
      },
    ])
  })

  it('shows the bank’s own return on the transaction, once it is confirmed', async () => {
    await service.db.query(sql`
      insert into simulator.returns (end_to_end_id, id, return_id, amount, nature, requested_at, settles_at)
      values (${right.endToEnd}, 'ofthebank', 'D0909000020260302150000000000777', 700, 'ORIGINAL', ${noon}, ${noon})`)
    await cli.read(['reconcile', '--from', day, '--to', day])
    const [found] = await listOpen()
    expect(found).toMatchObject({ class: 'return' })
    await cli.read(['--as', 'maria', 'reconcile', 'confirm', found?.id ?? ''])
    expect((await service.call(`/transaction/${right.id}`)).body).toMatchObject({
      status: 'PAID',
      amountReturned: 700,
      returns: [{ amount: 700, disputeId: null }],
    })
    expect(await entriesOf(found?.id ?? '')).toMatchObject([{ amount: -700, transactionId: right.id }])
    const refund = await requestRefund(service, right.id, { amount: 4301 })
    expect([refund.status, refund.body.amountLeft]).toEqual([422, 4300])
    expect(await findBreaches(service.db)).toEqual([])
  })
})

describe('guiche close', () => {
  const file = () => join(folder, 'statement.jws')

  it('closes a day with a signed statement that can be verified without the database', async () => {
    const text = await cli.read(['close', '--date', day, '--out', file()])
    expect(text).toMatch(new RegExp(`simulator, ${day} in Brasília, version 1, signed`))
    expect(text).toMatch(/in +2 × R\$ 69,00 +3 × R\$ 100,00/)
    expect(await cli.read(['close', '--date', day])).toMatch(/Nothing has changed since/)
    expect(await cli.read(['close'])).toMatch(/Usage: guiche close[\s\S]*verify/)
    const keys = join(folder, 'keys.json')
    await writeFile(keys, await cli.read(['close', 'keys']))
    expect(await cli.read(['close', 'verify', file(), '--keys', keys])).toMatch(/statement +signature valid/)
    const jws = await readFile(file(), 'utf8')
    await writeFile(file(), `${jws.slice(0, 200)}${jws[200] === 'A' ? 'B' : 'A'}${jws.slice(201)}`)
    await cli.expectFailure(['close', 'verify', file(), '--keys', keys], /The signature is not valid/)
  })

  it('shows what has changed since it was signed, and keeps the earlier version', async () => {
    await service.db.query(sql`update simulator.pix set amount = amount + 1 where amount = 5000`)
    expect(await cli.read(['close', '--date', day])).toMatch(
      /version 2, [\s\S]*after version 1[\s\S]*Changes since the previous version:\n[\s\S]*acquirer\.in\.sum: 6900 → 6901[\s\S]*amount E\w+: none → open/,
    )
    const shown = await cli.read(['close', 'show', '--acquirer', 'simulator', '--date', day, '--number', '1'])
    expect(shown).toMatch(/version 1, signed/)
    await cli.expectFailure(['close', '--date', dayOf(new Date())], /is not over in Brasília/)
    await cli.expectFailure(['close', '--date', '20/11/2026'], /is not a date/)
  })
})

describe('the statement of the merchant', () => {
  it('describes the correction in the language of the reader, in all files of the statement', async () => {
    // The command line has posted it at the real time.
    service.clock.set(new Date())
    const until = dayOf(service.clock.now())
    const owner = { role: 'owner', merchantId: await findSandboxMerchant(service) }
    const reader = await openBrowser(service, { email: await inviteUser(service, owner), password })
    const read = async (query: string) => {
      const { status, text } = await reader.call(`/dashboard/api/report/statement?from=${day}&until=${until}&${query}`)
      expect(status).toBe(200)
      return text
    }
    const english = `differed about the payment ${changed}.`
    const portuguese = `divergiam sobre o pagamento ${changed}.`
    expect(await read('format=ofx&language=en')).toContain(english)
    expect(await read('format=ofx&language=pt')).toContain(portuguese)
    expect(await read('format=csv&language=pt')).toContain(`${english},${changed},,payment,${changed}\r\n`)
    const sheet = await read('format=excel&language=pt')
    expect(sheet).toContain(`${portuguese};${changed};;Pagamento;${changed}\r\n`)
    expect(sheet).not.toContain('differed')
  })
})

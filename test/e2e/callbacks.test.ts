import { randomBytes } from 'node:crypto'
import { request } from 'undici'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { receiverKey } from '../../simulator/receiver-account.ts'
import { openNoticesMax } from '../../src/callbacks/backlog.ts'
import { sql } from '../../src/db/sql.ts'
import { charge, openQuietBank, type QuietBank, sendCallback, untilStatus } from '../support/payments.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { eventually } from '../support/webhooks.ts'

let service: TestService
let bank: QuietBank
let url: string
beforeAll(async () => {
  service = await startTestService({ environment: { METRICS_TOKEN: 'metrics-token' } })
  bank = await openQuietBank(service)
  const [row] = await service.db.query<{ url: string }>(sql`select url from simulator.webhooks`)
  url = row?.url ?? ''
})
afterAll(async () => {
  await bank.close()
  await service.stop()
})

const newEndToEndId = () => `E${randomBytes(16).toString('hex').slice(1)}`

async function post(body: string | Buffer, headers: Record<string, string> = { 'content-type': 'application/json' }) {
  const answer = await request(`${url}/pix`, { method: 'POST', body, headers })
  return { status: answer.statusCode, text: await answer.body.text() }
}

async function countKept(like = '%'): Promise<number> {
  const [row] = await service.db.query<{ kept: number }>(
    sql`select count(*)::int as kept from callback_inbox where end_to_end like ${like}`,
  )
  return row?.kept ?? 0
}

async function countRefused(reason: string): Promise<number> {
  const { text } = await service.call('/metrics', { token: 'metrics-token' })
  const [, value] =
    new RegExp(`^guiche_callbacks_refused_total\\{acquirer="simulator",reason="${reason}"\\} (\\d+)$`, 'm').exec(
      text,
    ) ?? []
  return Number(value ?? 0)
}

describe('a call without a payment', () => {
  it.each([
    ['Efí’s test at the registration', '{"evento":"teste_webhook","data_criacao":"2026-03-02T15:00:00.000Z"}'],
    ['an empty object', '{}'],
    ['nothing', ''],
    ['an empty list', '{"pix":[]}'],
    ['a notice of something else', '{"cobsr":[{"txid":"1"}]}'],
  ])('is answered 200 without a body, and stores nothing: %s', async (_, body) => {
    const before = await countKept()
    expect(await post(body)).toEqual({ status: 200, text: '' })
    expect(await countKept()).toBe(before)
  })
})

describe('a callback', () => {
  it.each([
    ['as text', { 'content-type': 'text/plain' }],
    ['as a form', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['with a character set', { 'content-type': 'application/json;charset=UTF-8' }],
    ['without a content type', {}],
  ])('is read as JSON when it is sent %s', async (_, headers) => {
    const { id, uri } = await charge(service)
    const payment = await bank.payQuietly(uri)
    expect((await post(JSON.stringify({ pix: [payment] }), headers)).status).toBe(200)
    await untilStatus(service, id, 'PAID')
  })

  it('is read when a PSP appends /pix after the query of the address', async () => {
    const { id, uri } = await charge(service)
    const body = JSON.stringify({ pix: [await bank.payQuietly(uri)] })
    const answer = await request(`${url}?ignorar=/pix`, { method: 'POST', body })
    expect(answer.statusCode).toBe(200)
    await answer.body.dump()
    await untilStatus(service, id, 'PAID')
  })

  it('for another key than ours is skipped and counted, and the payment next to it is posted', async () => {
    const { id, uri } = await charge(service)
    const payment = await bank.payQuietly(uri)
    const foreign = { ...payment, endToEndId: newEndToEndId(), txid: 'pedido42', chave: 'someone@else.example' }
    const before = await countRefused('other_key')
    expect(await sendCallback(service, { pix: [foreign, payment] })).toBe(200)
    expect(await sendCallback(service, { pix: [foreign] })).toBe(200)
    await untilStatus(service, id, 'PAID')
    expect(await countKept(foreign.endToEndId)).toBe(0)
    expect(await countRefused('other_key')).toBe(before + 2)
    // The key of a charge of ours may have changed since.
    const former = { ...payment, endToEndId: newEndToEndId(), chave: 'former@our.example' }
    expect(await sendCallback(service, { pix: [former] })).toBe(200)
    expect(await countKept(former.endToEndId)).toBe(1)
    const upper = { ...payment, chave: receiverKey.toUpperCase() }
    expect(await sendCallback(service, { pix: [upper] })).toBe(200)
    expect(await countRefused('other_key')).toBe(before + 2)
  })

  it('with thousands of payments is stored, each payment once', async () => {
    const mark = `E${randomBytes(4).toString('hex')}`
    const pix = Array.from({ length: 10_000 }, (_, index) => ({
      endToEndId: mark + String(index % 9_000).padStart(32 - mark.length, '0'),
    }))
    expect(await sendCallback(service, { pix })).toBe(200)
    expect(await countKept(`${mark}%`)).toBe(9_000)
    expect(await sendCallback(service, { pix })).toBe(200)
    expect(await countKept(`${mark}%`)).toBe(9_000)
  })

  it('with every wrong type is answered, and only payments are stored', async () => {
    const endToEndId = newEndToEndId()
    const before = await countRefused('unreadable_entry')
    const odd = [
      null,
      true,
      1,
      'E',
      [],
      {},
      { endToEndId: 1 },
      { endToEndId: [endToEndId] },
      { endToEndId: `${endToEndId}1` },
    ]
    const entries = [
      { endToEndId, txid: { $ne: 1 }, valor: [], chave: 7, devolucoes: 'x', gnExtras: [], infoPagador: '\u0000' },
      { endToEndId, txid: 'x'.repeat(10_000), devolucoes: [null, 1, { id: '../../x', status: 'DROP' }] },
    ]
    expect(await sendCallback(service, { pix: [...odd, ...entries] })).toBe(200)
    expect(await countRefused('unreadable_entry')).toBe(before + odd.length)
    const kept = await service.db.query<{ event_key: string; txid: string | null }>(
      sql`select event_key, txid from callback_inbox where end_to_end = ${endToEndId} order by event_key`,
    )
    expect(kept).toEqual([
      { event_key: endToEndId, txid: null },
      { event_key: `${endToEndId}:return:EM_PROCESSAMENTO`, txid: null },
    ])
  })

  it.each([
    ['deep lists', '['.repeat(500_000) + ']'.repeat(500_000)],
    ['deep lists among payments', `{"pix":[${'['.repeat(400_000)}${']'.repeat(400_000)}]}`],
    ['deep objects', `${'{"pix":'.repeat(100_000)}1${'}'.repeat(100_000)}`],
    ['a prototype', '{"__proto__":{"pix":[]},"pix":[{"constructor":{"prototype":{}}}]}'],
    ['a string without an end', '{"pix":["'],
    ['bytes that are not UTF-8', Buffer.from([...Buffer.from('{"pix":["'), 0xff, ...Buffer.from('"]}')])],
  ])('crafted to break the parser is refused and counted: %s', async (_, body) => {
    const before = { kept: await countKept(), refused: await countRefused('unreadable') }
    expect((await post(body)).status).toBe(422)
    expect({ kept: await countKept(), refused: await countRefused('unreadable') }).toEqual({
      ...before,
      refused: before.refused + 1,
    })
  })
})

it('a callback is refused while an attacker’s made-up callbacks fill the inbox, until there is capacity', async () => {
  await service.db.query(sql`
    insert into callback_inbox (acquirer, event_key, end_to_end, received_at, state, check_at)
    select 'simulator', 'made up ' || n, 'E', now(), 'received', 'infinity' from generate_series(1, ${openNoticesMax}) n`)
  // A process accepts callbacks up to the capacity that it last counted. Another process counts at its first callback.
  const { connectionString, db, clock } = service
  const other = await startTestService({ database: { connectionString, db }, clock })
  const [row] = await db.query<{ url: string }>(sql`select url from simulator.webhooks`)
  const callOther = async (body: object) => {
    const answer = await request(row?.url ?? '', { method: 'POST', body: JSON.stringify(body) })
    await answer.body.dump()
    return { status: answer.statusCode, retryAfter: answer.headers['retry-after'] }
  }
  const { uri } = await charge(service)
  const pix = [await bank.payQuietly(uri)]
  expect(await callOther({ pix })).toEqual({ status: 503, retryAfter: '60' })
  expect(await callOther({})).toMatchObject({ status: 200 })
  await db.query(sql`delete from callback_inbox where event_key like 'made up %'`)
  await eventually(async () => (await callOther({ pix })).status === 200)
  await other.stop()
})

import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { CellsView } from '../../src/dashboard/operator-schema.ts'
import { sql } from '../../src/db/sql.ts'
import { readCells } from '../../src/operator/cells.ts'
import { type CommandLine, openCommandLine } from '../support/command-line.ts'
import { charge, untilStatus } from '../support/payments.ts'
import { smallestTransaction, startTestService, type TestService } from '../support/service.ts'
import { inviteUser, openBrowser, password } from '../support/users.ts'
import { eventually } from '../support/webhooks.ts'
import { balancesOf, expectLedgerConsistent } from '../support/withdrawals.ts'

const names = ['a', 'b'] as const
type Name = (typeof names)[number]

let cells: Record<Name, TestService>
beforeAll(async () => {
  const b = await startTestService({ environment: { CELL: 'b' } })
  // `c` has the address of another cell, and `d` is away.
  const CELLS = `b=${b.baseUrl}/,c=${b.baseUrl},d=http://127.0.0.1:9`
  const a = await startTestService({ environment: { CELL: 'a', CELLS } })
  cells = { a, b }
  const { id, uri } = await charge(a, { amount: 5_000 })
  await a.call('/sandbox/payment', { body: { uri } })
  await untilStatus(a, id, 'PAID')
})
afterAll(async () => {
  for (const cell of Object.values(cells)) {
    await expectLedgerConsistent(cell)
    await cell.stop()
  }
})

describe('a merchant that moves from a to b', () => {
  const lines = {} as Record<Name, CommandLine>
  const folders: string[] = []
  beforeAll(async () => {
    for (const name of names) lines[name] = await openCommandLine(cells[name])
  })
  afterAll(async () => {
    for (const line of Object.values(lines)) await line.stop()
    for (const folder of folders) await rm(folder, { recursive: true })
  })

  const clientOf = (name: Name) => cells[name].sandbox.clientId
  const available = async (name: Name) => (await balancesOf(cells[name])).available
  const address = 'https://b.example.com'

  it('creates nothing new in a: the error has b’s address; repeated requests get their first response', async () => {
    const body = { amount: 700, paymentMethod: 'PIX', pix: {}, idempotencyKey: 'before the move' }
    const first = await cells.a.call('/transaction', { body })
    expect(first.status, first.text).toBe(201)
    await lines.a.expectFailure(
      ['client', 'move', clientOf('a'), '--to', 'a', '--address', address],
      'a is not another cell',
    )
    await lines.a.runJson(['client', 'move', clientOf('a'), '--to', 'b', '--address', `${address}/`])
    let attempts = 0
    await eventually(async () => {
      attempts += 1
      // A new key each time: the key of a charge from before the service knew of the move gets its first response.
      const idempotencyKey = `after the move ${attempts}`
      const refused = await cells.a.call('/transaction', { body: { ...body, idempotencyKey } })
      if (refused.status === 201) return false
      expect(refused).toMatchObject({ status: 403, body: { code: 'merchant_moved', address } })
      return true
    })
    const again = await cells.a.call('/transaction', { body })
    expect(again).toMatchObject({ status: 201, body: { id: first.body.id } })
  })

  it('sells nothing more by its payment links in a: their pages have no form any more', async () => {
    await cells.a.db.query(sql`
      insert into payment_links (merchant_id, id, slug, title, amount, needs_customer, is_enabled, created_at, changed_at)
      select merchant_id, gen_random_uuid(), 'sold-in-a', 'A link', 700, true, true, now(), now()
      from clients where client_id = ${clientOf('a')}`)
    const page = await fetch(`${cells.a.baseUrl}/l/sold-in-a`)
    expect([page.status, (await page.text()).includes('<form')]).toEqual([410, false])
  })

  it('keeps in a what is there: a charge is paid and refunded', async () => {
    const { body } = await cells.a.call<{ data: { id: string; status: string; pixResponse?: { uri: string } }[] }>(
      '/transaction?status=PIX_QRCODE_GENERATED',
    )
    const [open] = body.data
    const uri = (await cells.a.call<{ pixResponse: { uri: string } }>(`/transaction/${open?.id}`)).body.pixResponse.uri
    await cells.a.call('/sandbox/payment', { body: { uri } })
    await untilStatus(cells.a, open?.id ?? '', 'PAID')
    const refund = await cells.a.call(`/transaction/${open?.id}/refund`, {
      body: { amount: 1, idempotencyKey: 'after the move too' },
    })
    expect(refund.status, refund.text).toBe(201)
    await untilStatus(cells.a, open?.id ?? '', 'PAID')
    const refunded = await cells.a.call<{ amountRefunded: number }>(`/transaction/${open?.id}`)
    expect(refunded.body.amountRefunded).toBe(1)
  })

  it('takes a part of its balance along once, whatever is repeated or interrupted', async () => {
    const before = { a: await available('a'), b: await available('b') }
    const folder = await mkdtemp(join(tmpdir(), 'guiche-move-'))
    folders.push(folder)
    const [document, keys] = [join(folder, 'move.jws'), join(folder, 'keys.json')]
    const out = (amount: number, as = 'ana') => [
      ...['--as', as, 'ledger', 'move-out', '--client', clientOf('a'), '--to-client', clientOf('b')],
      ...['--amount', String(amount), '--description', 'Moved to b'],
    ]
    type Proposed = { id: string; move: string }
    const proposed = await lines.a.runJson<Proposed>(out(500))
    expect(await lines.a.runJson<Proposed>(out(500))).toMatchObject({ id: proposed.id, move: proposed.move })
    const { move } = proposed
    await lines.a.expectFailure(['--as', 'ana', 'proposal', 'approve', proposed.id], /another person/)
    await lines.a.expectFailure(['ledger', 'move-document', move], /There is no posted move/)
    await lines.a.runJson(['--as', 'bruno', 'proposal', 'approve', proposed.id])
    await lines.a.run(['--as', 'bruno', 'proposal', 'approve', proposed.id])
    expect({ a: await available('a'), b: await available('b') }).toEqual({ a: before.a - 500, b: before.b })
    // A crash here loses nothing: the document can be written at any time.
    for (const _ of [1, 2]) await lines.a.runJson(['ledger', 'move-document', move, '--out', document])
    await writeFile(keys, (await lines.a.run(['close', 'keys'])).stdout)
    await lines.a.expectFailure(['close', 'verify', document, '--keys', keys], /not the statement of a day/)

    const into = ['--as', 'carla', 'ledger', 'move-in', document, '--keys', keys, '--acquirer', 'simulator']
    await lines.a.expectFailure(into, 'The document is for the cell b, and this is the cell a.')
    const arriving = await lines.b.runJson<{ id: string }>(into)
    expect(await lines.b.runJson<{ id: string }>(into)).toMatchObject({ id: arriving.id, state: 'open' })
    await lines.b.expectFailure(['--as', 'carla', 'proposal', 'approve', arriving.id], /another person/)
    await lines.b.runJson(['--as', 'davi', 'proposal', 'approve', arriving.id])
    const repeated = await lines.b.runJson<{ id: string | null; state: string }>(into)
    if (repeated.id !== null) await lines.b.runJson(['--as', 'davi', 'proposal', 'approve', repeated.id])
    expect(repeated.state).toBe('posted')
    expect({ a: await available('a'), b: await available('b') }).toEqual({ a: before.a - 500, b: before.b + 500 })

    // The same event in both cells, and in both statements.
    for (const name of names) {
      const rows = await cells[name].db.query<{ event_key: string }>(sql`
        select event_key from ledger_transfers where record_id = ${move}`)
      expect(rows).toEqual([{ event_key: `move:${move}` }])
      const { body } = await cells[name].call<{ data: { kind: string; description: string | null }[] }>('/statement')
      expect(body.data.find(({ kind }) => kind.startsWith('moved_'))).toMatchObject({ description: 'Moved to b' })
    }
  })

  it('is on the operator’s page of the other cells, which says what could not be read', async () => {
    const email = await inviteUser(cells.a, { role: 'read_only' })
    const browser = await openBrowser(cells.a, { email, password })
    const { body, text } = await browser.call<CellsView>('/dashboard/api/cells')
    expect(
      body.data.map(({ cell, state }) => `${cell} ${state}`),
      text,
    ).toEqual(['b ok', 'c other', 'd unreachable'])
    expect(body.data[0]).toMatchObject({
      address: cells.b.baseUrl,
      figures: { arePayoutsFrozen: false, otherCellPayments: 0, moves: [{ direction: 'in', cell: 'a', cents: 500 }] },
    })
    const own = await cells.a.call('/metrics', { token: null })
    expect(own.text).toMatch(/^guiche_moved_cents\{direction="out",cell="b"\} 500$/m)
    expect(own.text).toMatch(/^guiche_cell_info\{cell="a",version="[^"]+"\} 1$/m)
  })

  it('never takes more than it has, and a changed document is refused', async () => {
    const more = (await available('a')) + 1
    const proposed = await lines.a.runJson<{ id: string }>([
      ...['--as', 'ana', 'ledger', 'move-out', '--client', clientOf('a'), '--to-client', clientOf('b')],
      ...['--amount', String(more), '--description', 'Too much'],
    ])
    await lines.a.expectFailure(['--as', 'bruno', 'proposal', 'approve', proposed.id], /available has .* less than/)
    const [folder = ''] = folders
    const [head, body = '', signature] = (await readFile(join(folder, 'move.jws'), 'utf8')).split('.')
    const content = JSON.parse(Buffer.from(body, 'base64url').toString())
    const forged = Buffer.from(JSON.stringify({ ...content, amount: 5_000_000 })).toString('base64url')
    await writeFile(join(folder, 'forged.jws'), [head, forged, signature].join('.'))
    await lines.b.expectFailure(
      ['ledger', 'move-in', join(folder, 'forged.jws'), '--keys', join(folder, 'keys.json'), '--acquirer', 'simulator'],
      /the file was changed/,
    )
  })

  it('can come back', async () => {
    await lines.a.runJson(['client', 'move-back', clientOf('a')])
    await eventually(async () => (await cells.a.call('/transaction', { body: smallestTransaction() })).status === 201)
  })
})

it('stops reading a cell’s answer that is longer than any metrics', async () => {
  const chunk = Buffer.alloc(64 * 1024, '#')
  const chunksMax = 1_000
  let sent = 0
  const server = createServer((_, response) => {
    const send = (error?: Error | null) => {
      // The reader has closed the connection.
      if (error) return
      if (sent === chunksMax) return void response.end()
      sent += 1
      response.write(chunk, send)
    }
    send()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const [read] = await readCells({ cells: [{ cell: 'e', address }], metricsToken: null })
  expect(read?.state).toBe('unreachable')
  expect(sent).toBeLessThan(chunksMax / 2)
  server.closeAllConnections()
  server.close()
})

import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createRegistry } from '../../src/acquirers/registry.ts'
import { sql } from '../../src/db/sql.ts'
import { cellOfId, newIdIn, prefixesOf } from '../../src/lib/cell.ts'
import { fromTxid, toTxid } from '../../src/pix/ids.ts'
import { reconcile } from '../../src/reconciliation/run.ts'
import { settleDepsWith } from '../support/acquirer.ts'
import { charge, openQuietBank, type QuietBank, sendCallback, untilInbox, untilStatus } from '../support/payments.ts'
import {
  type Certificates,
  cellsProxyNames,
  isInstalled,
  makeCertificates,
  type Requested,
  type RunningProxy,
  requestThroughProxy,
  startCellsProxy,
} from '../support/proxies.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { findSuspenseOf } from '../support/suspense.ts'
import { findSandboxMerchant, inviteUser, openBrowser, password } from '../support/users.ts'
import { eventually } from '../support/webhooks.ts'
import { balancesOf, expectLedgerConsistent, withdraw } from '../support/withdrawals.ts'

const names = ['a', 'b'] as const
type Name = (typeof names)[number]

let cells: Record<Name, TestService>
beforeAll(async () => {
  const [a, b] = await Promise.all(
    names.map(async (CELL) => await startTestService({ environment: { CELL, TOKEN_LIFETIME_SECONDS: '86400' } })),
  )
  if (!a || !b) throw new Error('a service is missing')
  cells = { a, b }
})
afterAll(async () => {
  for (const cell of Object.values(cells)) {
    await expectLedgerConsistent(cell)
    await cell.stop()
  }
})

const callbackPathOf = async (cell: TestService) => {
  const [row] = await cell.db.query<{ url: string }>(sql`select url from simulator.webhooks`)
  return new URL(row?.url ?? '').pathname
}

it('ids, tokens, client ids and addresses that a cell gives out carry its name', async () => {
  for (const name of names) {
    const cell = cells[name]
    const prefixes = prefixesOf(name)
    expect(cell.sandbox.clientId.startsWith(prefixes.clientId)).toBe(true)
    expect(cell.token.startsWith(prefixes.accessToken)).toBe(true)
    expect((await callbackPathOf(cell)).startsWith(`/callbacks/simulator/${prefixes.callback}`)).toBe(true)
    const { id, uri } = await charge(cell, { amount: 5_000, idempotencyKey: 'the first' })
    expect(cellOfId(id)).toBe(name)
    expect((await charge(cell, { amount: 5_000, idempotencyKey: 'the first' })).id).toBe(id)
    const link = await cell.call<{ url: string }>(`/transaction/${id}/payment-link`)
    expect(new URL(link.body.url).pathname.startsWith(`/pay/${prefixes.paymentPage}`)).toBe(true)
    await cell.call('/sandbox/payment', { body: { uri } })
    await untilStatus(cell, id, 'PAID')
    const body = { amount: 100, idempotencyKey: 'a part of it' }
    const refund = await cell.call<{ id: string }>(`/transaction/${id}/refund`, { body })
    expect(cellOfId(refund.body.id), refund.text).toBe(name)
    expect(cellOfId(await withdraw(cell))).toBe(name)
  }
})

const titles = { a: 'Christmas of a', b: 'Christmas of b' }
/** Creates a payment link with the same slug in each cell. */
async function createLink(name: Name): Promise<string> {
  const cell = cells[name]
  const email = await inviteUser(cell, { role: 'owner', merchantId: await findSandboxMerchant(cell) })
  const owner = await openBrowser(cell, { email, password })
  const form = { title: titles[name], amount: 1_000, needsCustomer: false, isEnabled: true, hasStaticCode: false }
  const body = { id: randomUUID(), slug: 'natal', ...form }
  const { text, ...link } = await owner.call<{ url: string }>('/dashboard/api/link', { body })
  expect(link.status, text).toBe(201)
  return new URL(link.body.url).pathname
}

it('a payment link begins with the name of its cell, which also accepts it without', async () => {
  for (const name of names) {
    const path = await createLink(name)
    expect(path).toBe(`/l/${prefixesOf(name).paymentLink}natal`)
    const open = async (at: string) => await cells[name].call<string>(at, { token: null })
    for (const at of [path, path.toUpperCase().replace('/L/', '/l/'), '/l/natal'])
      expect((await open(at)).text).toContain(titles[name])
    expect((await open(path.replace(/\w+\./, 'c.'))).status).toBe(404)
  }
})

it('a database can be given a cell later, but never another one', async () => {
  const start = async (database: TestService, environment: Record<string, string>) =>
    await startTestService({ database, environment, clock: database.clock })
  await expect(start(cells.a, { CELL: 'b' })).rejects.toThrow('CELL is b, but this database belongs to the cell a.')
  await expect(start(cells.a, {})).rejects.toThrow('CELL is not set: set CELL=a.')

  const alone = await startTestService()
  const { id, uri } = await charge(alone)
  expect(cellOfId(id)).toBeNull()
  const named = await start(alone, { CELL: 'c' })
  const token = async (service: TestService) => {
    const { body } = await named.call<{ access_token: string }>('/auth/token', {
      rawBody: new URLSearchParams({
        client_id: service.sandbox.clientId,
        client_secret: service.sandbox.clientSecret,
      }).toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      token: null,
    })
    return body.access_token
  }
  expect(await token(alone)).toMatch(new RegExp(`^${prefixesOf('c').accessToken}`))
  // Ids, tokens and codes from before are still valid.
  const fetched = await named.call(`/transaction/${id}`, { token: alone.token })
  expect(fetched.status).toBe(200)
  await alone.call('/sandbox/payment', { body: { uri } })
  await untilStatus(alone, id, 'PAID')
  await named.stop()
  await alone.stop()
})

describe('a payment of another cell, at an account that is configured in two', () => {
  let bank: QuietBank
  beforeAll(async () => {
    bank = await openQuietBank(cells.a)
  })
  afterAll(async () => await bank.close())

  const seen = async () =>
    await cells.a.db.query<{ end_to_end: string; cell: string }>(sql`
      select end_to_end, cell from other_cell_payments order by end_to_end`)
  /** A payment at a's account, for a charge with this id that a did not create. */
  const payOther = async (id: string) => await bank.payQuietly(await bank.charge(toTxid(id), '25.00'))
  const suspenseTransfers = async () =>
    await cells.a.db.query(sql`select * from ledger_transfers where record_type = 'suspense'`)

  it('is counted once, and neither in suspense nor in the ledger', async () => {
    const before = { merchant: await balancesOf(cells.a), suspense: await suspenseTransfers() }
    const [reported, unreported] = [await payOther(newIdIn('b')), await payOther(newIdIn('zz'))]
    expect(await sendCallback(cells.a, { pix: [reported] })).toBe(200)
    await untilInbox(cells.a, reported.endToEndId, 'unmatched')
    await eventually(async () => {
      cells.a.clock.advance(60_000)
      await cells.a.runJob('transactions.poll')
      return (await seen()).length === 2
    })
    expect((await seen()).toSorted((one, other) => one.cell.localeCompare(other.cell))).toEqual([
      { end_to_end: reported.endToEndId, cell: 'b' },
      { end_to_end: unreported.endToEndId, cell: 'zz' },
    ])
    for (const { endToEndId } of [reported, unreported]) expect(await findSuspenseOf(cells.a, endToEndId)).toBeNull()
    expect({ merchant: await balancesOf(cells.a), suspense: await suspenseTransfers() }).toEqual(before)
    const counted = async () => {
      const metrics = await (await fetch(`${cells.a.baseUrl}/metrics`)).text()
      return metrics.match(/^guiche_other_cell_payments\{.*$/gm)
    }
    const ofB = 'guiche_other_cell_payments{cell="b"} 1'
    expect(await counted()).toEqual([ofB, 'guiche_other_cell_payments{cell="zz"} 1'])
    // The alert ends a week after the last one.
    await cells.a.db.query(sql`
      update other_cell_payments set seen_at = seen_at - interval '7 days' where cell = 'zz'`)
    expect(await counted()).toEqual([ofB])
  })

  it('is no discrepancy', async () => {
    const deps = settleDepsWith(cells.a, bank.handle)
    const now = cells.a.clock.now()
    const window = { from: new Date(now.getTime() - 3_600_000), to: now }
    const countOf = async (cell: Name | null) => {
      const acquirers = createRegistry(deps.acquirers.all, [], cell)
      const acquirer = acquirers.named('simulator')
      return (await reconcile({ ...deps, acquirers }, { acquirer, kind: 'manual', window })).counts.unattributed
    }
    expect(await countOf('a')).toBeUndefined()
    // Without a cell they would be two unattributed payments.
    expect(await countOf(null)).toBe(2)
  })

  it('goes to suspense as before if its txid names no cell', async () => {
    const payment = await payOther('0b1f0c9e-3a52-4a55-9d3c-7f2f4f0f7c11')
    await eventually(async () => {
      cells.a.clock.advance(6 * 60_000)
      await cells.a.runJob('transactions.poll')
      return (await findSuspenseOf(cells.a, payment.endToEndId))?.status === 'held'
    })
  })
})

let certificates: Certificates
beforeAll(async () => {
  certificates = await makeCertificates()
})
afterAll(async () => await certificates.remove())

describe.each(cellsProxyNames.map((name) => ({ name })))('behind $name', ({ name }) => {
  const runs = isInstalled(name)
  let proxy: RunningProxy
  beforeAll(async () => {
    const [a, b] = names.map((cell) => Number(new URL(cells[cell].baseUrl).port))
    if (runs && a && b) proxy = await startCellsProxy(name, certificates, { a, b })
  })
  afterAll(async () => {
    if (runs) await proxy.stop()
  })

  const callCell = async (requested: Requested) => {
    const answer = await requestThroughProxy(proxy, certificates, { servername: 'api.example.com', ...requested })
    if (!answer) throw new Error('no answer')
    return answer
  }
  const form = (gateway: TestService) => ({
    path: '/auth/token',
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: gateway.sandbox.clientId,
      client_secret: gateway.sandbox.clientSecret,
    }).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  })
  const basic = ({ sandbox: { clientId, clientSecret } }: TestService) => ({
    path: '/auth/token',
    body: 'grant_type=client_credentials',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      authorization: `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`,
    },
  })
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
  const tokenFrom = async (requested: Requested) => String(JSON.parse((await callCell(requested)).text).access_token)

  it.runIf(runs).each(names)('a merchant of the cell %s gets a token, creates, reads and is paid', async (cell) => {
    const gateway = cells[cell]
    expect(cellOfToken(await tokenFrom(form(gateway)))).toBe(cell)
    const token = await tokenFrom(basic(gateway))
    const headers = bearer(token)
    const body = JSON.stringify({ amount: 1_000, paymentMethod: 'PIX', pix: {} })
    const created = await callCell({ path: '/transaction', body, headers })
    expect(created.status, created.text).toBe(201)
    const { id, pixResponse } = JSON.parse(created.text)
    expect(cellOfId(id)).toBe(cell)
    expect((await callCell({ path: `/transaction/${id}`, headers })).status).toBe(200)
    const { url } = JSON.parse((await callCell({ path: `/transaction/${id}/payment-link`, headers })).text)
    expect((await callCell({ path: new URL(url).pathname })).status).toBe(200)

    const bank = await openQuietBank(gateway)
    const payment = await bank.payQuietly(pixResponse.uri)
    expect(cellOfId(fromTxid(payment.txid) ?? '')).toBe(cell)
    const path = `${await callbackPathOf(gateway)}/pix`
    expect((await callCell({ path, body: JSON.stringify({ pix: [payment] }) })).status).toBe(200)
    gateway.clock.advance(10_000)
    await untilStatus(gateway, id, 'PAID')
    await bank.close()
  })

  it.runIf(runs).each(names)('a payment link of the cell %s leads to its merchant', async (cell) => {
    const path = `/l/${prefixesOf(cell).paymentLink}natal`
    for (const at of [path, path.toUpperCase().replace('/L/', '/l/')])
      expect((await callCell({ path: at })).text).toContain(titles[cell])
  })

  it.runIf(runs)('a request that names a cell reaches only that cell', async () => {
    const path = await callbackPathOf(cells.a)
    expect((await callCell({ path: path.replace('/a.', '/b.'), body: '{}' })).status).toBe(404)
    const { status, text } = await callCell({
      host: 'b.example.com',
      path: '/transaction',
      headers: bearer(cells.a.token),
    })
    expect(status, text).toBe(401)
    expect(
      (await callCell({ host: 'a.example.com', path: '/transaction', headers: bearer(cells.a.token) })).status,
    ).toBe(200)
    // The name of the host decides, whatever else the request carries.
    expect((await callCell({ ...form(cells.b), host: 'a.example.com' })).status).toBe(401)
  })

  it.runIf(runs)('a request that names no cell, or an unknown one, is answered', async () => {
    const unknown = { client_id: 'gc_zz_0', client_secret: 'x', grant_type: 'client_credentials' }
    expect((await callCell({ ...form(cells.a), body: new URLSearchParams(unknown).toString() })).status).toBe(401)
    expect((await callCell({ path: '/docs' })).status).toBe(200)
    expect((await callCell({ path: '/pay/zz__0000' })).status).toBe(404)
    expect((await callCell({ path: '/transaction', headers: bearer('x') })).status).toBe(401)
    for (const inner of ['/metrics', '/health/ready']) expect((await callCell({ path: inner })).status).toBe(404)
  })

  it.runIf(runs)('a browser chooses the cell of its dashboard', async () => {
    const chosen = await callCell({ path: '/cells/b' })
    expect(chosen.status).toBe(302)
    const [cookie = ''] = chosen.headers['set-cookie']?.[0]?.split(';') ?? []
    expect(cookie).toBe('guiche_cell=b')
    const kids = async (headers: Record<string, string>) =>
      JSON.parse((await callCell({ path: '/.well-known/jwks.json', headers })).text).keys[0].kid
    expect(await kids({ cookie })).toMatch(/^b\./)
    expect(await kids({})).toMatch(/^a\./)
  })
})

function cellOfToken(token: string): string | undefined {
  return names.find((name) => token.startsWith(prefixesOf(name).accessToken))
}

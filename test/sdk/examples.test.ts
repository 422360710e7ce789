import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { cp, mkdtemp, readFile, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Guiche } from '../../sdk/src/index.ts'
import { createTestEvent, signWebhook } from '../../sdk/src/testing.ts'
import { sql } from '../../src/db/sql.ts'
import { manualClock } from '../support/clock.ts'
import { type FaultyProxy, openFaultyProxy } from '../support/faulty-proxy.ts'
import { refundInPart } from '../support/payments.ts'
import { findFreePort } from '../support/process.ts'
import { findPython } from '../support/python.ts'
import { startTestService, type TestService } from '../support/service.ts'

const python = findPython('fastapi', 'httpx', 'uvicorn') ?? 'python3'
/** The example shops: which program each needs, how it is built and how it is started, in a copy of its folder. */
const examples: { name: string; needs: string[]; build?: string[]; start: string[] }[] = [
  { name: 'express', needs: [process.execPath, '--version'], start: [process.execPath, 'shop.js'] },
  { name: 'fastapi', needs: [python, '-c', 'import fastapi, httpx, uvicorn'], start: [python, 'shop.py'] },
  { name: 'go', needs: ['go', 'version'], build: ['go', 'build', '-o', 'shop', '.'], start: ['./shop'] },
]

type Order = { id: string; status: string; code: string; qrCode: string; paymentUrl: string }

const cleanups: (() => Promise<unknown>)[] = []
let guiche: Guiche
let secret: string
let sandboxFile: string
let service: TestService
let proxy: FaultyProxy

beforeAll(async () => {
  service = await startTestService({ clock: manualClock(new Date()) })
  cleanups.push(service.stop)
  proxy = await openFaultyProxy(service.baseUrl)
  cleanups.push(proxy.stop)
  sandboxFile = join(service.dataDir, 'sandbox.json')
  const { sandbox } = service
  secret = sandbox.webhookSecret
  guiche = new Guiche(sandbox)
})
afterAll(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup()
})

it('the example shops show the same page', async () => {
  const pages = await Promise.all(examples.map(({ name }) => readFile(`examples/${name}/index.html`, 'utf8')))
  expect(new Set(pages).size).toBe(1)
})

describe.each(examples)('examples/$name', ({ name, needs: [command = '', ...args], build, start }) => {
  it.skipIf(spawnSync(command, args, { stdio: 'ignore' }).status !== 0)('ships a paid order once', async () => {
    const { url: shop, said } = await startShop(name, start, build)
    expect(await (await fetch(shop)).text()).toContain('Comprar com Pix')

    const created = (await (await fetch(`${shop}/orders`, { method: 'POST' })).json()) as Order
    expect(created).toMatchObject({ status: 'PENDING', code: expect.stringMatching(/^000201/) })
    expect(created.qrCode).toMatch(/^data:image\/png;base64,/)
    const [transaction] = await guiche.transactions.list({ externalCode: created.id }).all()
    const returnUrl = `${shop}/?order=${created.id}`
    expect(transaction).toMatchObject({ amount: 2590, status: 'PIX_QRCODE_GENERATED', returnUrl })
    expect(await (await fetch(created.paymentUrl)).text()).toContain(`href="${returnUrl}`)

    const event = createTestEvent('transaction.paid', { externalCode: created.id, amountPaid: 2590, sequence: 99 })
    expect(await send(shop, `whsec_${btoa('of somebody else')}`, event)).toBe(401)
    const little = createTestEvent('transaction.paid', { externalCode: created.id, amountPaid: 1, sequence: 1 })
    expect(await send(shop, secret, little)).toBe(204)
    expect(await readOrder(shop, created.id)).toMatchObject({ status: 'PENDING' })

    await guiche.sandbox.pay({ uri: created.code })
    await expect.poll(async () => (await readOrder(shop, created.id)).status).toBe('PAID')
    expect((await fetch(`${shop}/orders/of-nobody`)).status).toBe(404)

    const shipments = () =>
      said()
        .split('\n')
        .filter((line) => line === `ship ${created.id}`)
    await expect.poll(shipments).toHaveLength(1)
    await refundInPart(guiche, transaction?.id ?? '')
    expect(shipments()).toHaveLength(1)
    expect(await readOrder(shop, created.id)).toMatchObject({ status: 'PAID' })

    await revokeTokens()
    expect((await fetch(`${shop}/orders`, { method: 'POST' })).ok).toBe(true)

    proxy.plan('POST /transaction', { status: 429, headers: { 'retry-after': '2' } })
    const sentAt = performance.now()
    expect((await fetch(`${shop}/orders`, { method: 'POST' })).ok).toBe(true)
    expect(performance.now() - sentAt).toBeGreaterThan(1_950)
  })
})

/** As when an operator revokes the client's tokens. */
async function revokeTokens(): Promise<void> {
  const { clientId, clientSecret } = service.sandbox
  const form = { client_id: clientId, client_secret: clientSecret, grant_type: 'client_credentials' }
  const granted = await fetch(`${service.baseUrl}/auth/token`, { method: 'POST', body: new URLSearchParams(form) })
  const { access_token: token } = (await granted.json()) as { access_token: string }
  const balanceStatus = async () =>
    (await fetch(`${service.baseUrl}/balance`, { headers: { authorization: `Bearer ${token}` } })).status
  service.clock.advance(2_000)
  await service.db.query(sql`update clients set not_before = ${new Date(service.clock.now().getTime() - 1_000)}`)
  await expect.poll(balanceStatus).toBe(401)
}

async function readOrder(shop: string, id: string): Promise<Order> {
  return (await (await fetch(`${shop}/orders/${id}`)).json()) as Order
}

async function send(shop: string, signedWith: string, event: ReturnType<typeof createTestEvent>): Promise<number> {
  const { headers, body } = await signWebhook(signedWith, event)
  return (await fetch(`${shop}/webhooks/pix`, { method: 'POST', headers, body })).status
}

/** Starts the shop in a copy of its folder. Resolves with its address and what it prints. */
async function startShop(name: string, [command = '', ...args]: string[], build?: string[]) {
  const folder = await mkdtemp(join(tmpdir(), `guiche-example-${name}-`))
  cleanups.push(async () => await rm(folder, { recursive: true }))
  await cp(`examples/${name}`, folder, { recursive: true })
  await symlink(resolve('node_modules'), join(folder, 'node_modules'))
  const port = await findFreePort()
  const env = {
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    PORT: String(port),
    GUICHE_SANDBOX: sandboxFile,
    GUICHE_URL: proxy.baseUrl,
    PYTHONPATH: resolve('sdk-python/src'),
    PYTHONDONTWRITEBYTECODE: '1',
  }
  if (build) {
    const { status, stderr } = spawnSync(build[0] ?? '', build.slice(1), { cwd: folder, env, encoding: 'utf8' })
    expect(status, stderr).toBe(0)
  }
  const child = spawn(command, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] })
  cleanups.push(async () => await end(child))
  let said = ''
  const address = await new Promise<string>((done, failed) => {
    child.once('error', failed)
    child.once('exit', (code) => failed(new Error(`The shop ended with ${code}`)))
    createInterface({ input: child.stdout }).on('line', (line) => {
      said += `${line}\n`
      const [found] = line.match(/http:\/\/\S+/) ?? []
      if (found) done(found)
    })
  })
  // Some of the shops print their address before they listen.
  await expect.poll(async () => (await fetch(address).catch(() => null))?.status).toBe(200)
  return { url: address, said: () => said }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = new Promise((done) => child.once('exit', done))
  child.kill()
  await ended
}

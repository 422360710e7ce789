import { readFile, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { scopes } from '../../src/auth/scopes.ts'
import { type Db, sql } from '../../src/db/sql.ts'
import { enqueueJob } from '../../src/jobs/jobs.ts'
import { newSecretKey, parseSecretKey } from '../../src/lib/secrets.ts'
import { createMerchant } from '../../src/merchant.ts'
import { findBreaches } from '../../src/verification.ts'
import { createEmptyDatabase, createTestDatabase } from '../support/database.ts'
import { findFreePort, makeDataDir, type ServiceProcess, startServiceProcess } from '../support/process.ts'
import { fetchToken } from '../support/service.ts'
import {
  type OwnSimulator,
  type SimulatorProcess,
  startSimulatorProcess,
  startTlsSimulator,
} from '../support/simulator-process.ts'
import { eventually } from '../support/webhooks.ts'

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

type Transaction = { id: string; acquirer: string; status: string; pixResponse: { uri: string } }

it('two PSPs with mutual TLS, and the first hangs: charges continue at the other, and return when it answers', async () => {
  const [efi, bb] = await Promise.all([startHangingPsp('efi'), startPsp('bb')])
  const psps = [efi, bb]
  const database = await createTestDatabase()
  cleanups.push(database.drop)
  const { gateway, token } = await startGateway(database, await writeSettings(psps))
  const call = async (path: string, body?: object) => {
    const headers = { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) }
    const answer = await fetch(gateway.baseUrl + path, {
      headers,
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    })
    const answered = (await answer.json()) as Transaction
    return { status: answer.status, body: answered, said: JSON.stringify([answered, gateway.lines.slice(-3)]) }
  }
  const find = async (id: string) => (await call(`/transaction/${id}`)).body
  const create = async () => {
    const { status, body, said } = await call('/transaction', { amount: 1000, paymentMethod: 'PIX', pix: {} })
    expect(status, said).toBe(201)
    return await find(body.id)
  }
  const buyAt = async (psp: Psp) => {
    const { id, pixResponse } = await create()
    expect((await psp.control('payment', { uri: pixResponse.uri })).status).toBe(200)
    await eventually(async () => (await find(id)).status === 'PAID')
    return await find(id)
  }

  expect((await buyAt(efi)).acquirer).toBe('simulated-efi')
  efi.signal('SIGSTOP')
  const other = await buyAt(bb)
  expect(other.acquirer).toBe('simulated-bb')
  expect(await othersOf(database.db, other.id)).toEqual(['simulated-efi'])
  efi.signal('SIGCONT')
  // The regular poll of its payments finds that it answers; here it runs immediately.
  while ((await create()).acquirer !== 'simulated-efi')
    await enqueueJob(database.db, { name: 'transactions.poll', payload: {}, key: 'transactions.poll' })
  expect((await buyAt(efi)).acquirer).toBe('simulated-efi')
  expect(await findBreaches(database.db)).toEqual([])
}, 300_000)

type Psp = OwnSimulator & { dataDir: string }

async function startPsp(dialect: string): Promise<Psp> {
  const [bank, { dataDir, remove }] = await Promise.all([createEmptyDatabase(), makeDataDir()])
  cleanups.push(bank.drop, remove)
  const psp = await startTlsSimulator(dialect, { dataDir, databaseUrl: bank.connectionString })
  cleanups.push(psp.stop)
  return { dataDir, ...psp }
}

/** A PSP in its own process, which SIGSTOP makes hang. */
async function startHangingPsp(dialect: string): Promise<SimulatorProcess> {
  const bank = await createEmptyDatabase()
  cleanups.push(bank.drop)
  const psp = await startSimulatorProcess(['--dialect', dialect, '--tls'], { databaseUrl: bank.connectionString })
  cleanups.push(async () => {
    psp.signal('SIGCONT')
    await psp.stop()
  })
  return psp
}

/**
 * Writes one settings file from that of each simulator, with a route: the first takes all charges, the others are
 * fallbacks.
 */
async function writeSettings(psps: Psp[]): Promise<string> {
  const acquirers: { name: string }[] = []
  for (const { dataDir } of psps) {
    const file = join(dataDir, 'simulator/acquirers.json')
    // Its file paths are relative to its own folder.
    const absolute = (name: string, value: unknown) =>
      name.endsWith('File') && typeof value === 'string' ? resolve(dirname(file), value) : value
    acquirers.push(...JSON.parse(await readFile(file, 'utf8'), absolute).acquirers)
  }
  const { dataDir, remove } = await makeDataDir()
  cleanups.push(remove)
  const path = join(dataDir, 'acquirers.json')
  const routes = [{ acquirers: acquirers.map(({ name }, index) => ({ name, weight: index === 0 ? 1 : 0 })) }]
  await writeFile(path, JSON.stringify({ acquirers, routes }), { mode: 0o600 })
  return path
}

type Database = { db: Db; connectionString: string }

async function startGateway(
  { db, connectionString }: Database,
  acquirersFile: string,
): Promise<{ gateway: ServiceProcess; token: string }> {
  const { dataDir, remove } = await makeDataDir()
  cleanups.push(remove)
  const secretKey = newSecretKey()
  const gateway = await startServiceProcess({
    dataDir,
    port: await findFreePort(),
    databaseUrl: connectionString,
    environment: { ACQUIRERS_FILE: acquirersFile, SECRET_KEY: secretKey },
  })
  cleanups.push(async () => {
    gateway.signal('SIGTERM')
    await gateway.ended
  })
  const key = parseSecretKey(secretKey)
  if (!key) throw new Error('a new secret key cannot be parsed')
  const deps = { clock: { now: () => new Date() }, key }
  const client = await db.transaction(
    async (tx) => await createMerchant(tx, deps, { name: 'A shop', scopes: [...scopes] }),
  )
  return { gateway, token: await fetchToken(gateway.baseUrl, client) }
}

async function othersOf(db: Db, id: string): Promise<string[]> {
  const [row] = await db.query<{ other_acquirers: string[] }>(sql`
    select other_acquirers from transactions where id = ${id}`)
  return row?.other_acquirers ?? []
}

import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import { afterAll, afterEach, beforeAll, expect, inject, it } from 'vitest'
import { dialectNames } from '../../simulator/dialects.ts'
import { scopes } from '../../src/auth/scopes.ts'
import type { Db } from '../../src/db/sql.ts'
import { enqueueJob } from '../../src/jobs/jobs.ts'
import { newSecretKey, parseSecretKey } from '../../src/lib/secrets.ts'
import { createMerchant } from '../../src/merchant.ts'
import { findBreaches } from '../../src/verification.ts'
import { manualClock } from '../support/clock.ts'
import { type CommandLine, openCommandLine } from '../support/command-line.ts'
import { createEmptyDatabase } from '../support/database.ts'
import { makeDataDir } from '../support/process.ts'
import { fetchToken, startTestService } from '../support/service.ts'
import { type SimulatorProcess, startTlsSimulator } from '../support/simulator-process.ts'
import { eventually, startTestReceiver, type TestReceiver } from '../support/webhooks.ts'

/*
 * The gateway and a PSP with mutual TLS between them, in the dialect of each PSP: the README's steps, a refund, a
 * dispute (MED) and a withdrawal. The gateway knows the PSP only from the settings file that the simulator writes.
 * test/system/several-psps.test.ts runs the gateway as a separate process, with two PSPs.
 */

const withDisputes = ['generic', 'efi']
const withPayouts = ['generic', 'efi', 'inter', 'sicoob']

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

let folder: Awaited<ReturnType<typeof makeDataDir>>
let acquirersFile: string
let commandLine: CommandLine

beforeAll(async () => {
  folder = await makeDataDir()
  acquirersFile = join(folder.dataDir, 'simulator/acquirers.json')
  const environment = { DATA_DIR: folder.dataDir, ACQUIRERS_FILE: acquirersFile }
  commandLine = await openCommandLine({ connectionString: inject('postgres'), environment })
})
afterAll(async () => {
  await commandLine.stop()
  await folder.remove()
})

it.each(dialectNames)('charges, is paid, refunds, is disputed and pays out: %s', async (dialect) => {
  const shop = await openShop(dialect)
  const checked = shop.check()

  const first = await shop.buy(10_000)
  await shop.untilDelivered('transaction.paid', first.id)
  expect(await shop.fetch(first.id)).toMatchObject({ status: 'PAID', endToEnd: first.endToEnd, amountPaid: 10_000 })

  const refund = await shop.call(`/transaction/${first.id}/refund`, { idempotencyKey: randomUUID(), amount: 400 })
  expect(refund.status, JSON.stringify(refund.body)).toBe(201)
  await shop.until(first.id, ({ amountRefunded, status }) => amountRefunded === 400 && status === 'PAID')

  // No callback arrives: the payment is found in the PSP's list, which was read for empty periods as well.
  await shop.buy(1_000, { behaviour: 'callback_never' })

  const second = await shop.buy(2_000)
  if (withDisputes.includes(dialect)) await dispute(shop, second)
  // This PSP reports no dispute: the money goes back, and that is all.
  else expect(await shop.psp.control('return', { endToEndId: second.endToEnd })).toMatchObject({ status: 200 })
  await shop.until(second.id, ({ status }) => status === 'INFRACTION')

  const body = {
    amount: 1_500,
    method: 'PIX',
    pixKey: { key: randomUUID(), type: 'EVP' },
    idempotencyKey: randomUUID(),
  }
  const withdrawal = await shop.call<{ id: string; code: string }>('/withdrawal', body)
  if (withPayouts.includes(dialect)) {
    expect(withdrawal.status, JSON.stringify(withdrawal.body)).toBe(201)
    await eventually(async () => (await shop.call(`/withdrawal/${withdrawal.body.id}`)).body.status === 'PROCESSED')
  } else {
    expect(withdrawal).toMatchObject({ status: 422, body: { code: 'withdrawal_not_possible' } })
    expect(JSON.stringify(withdrawal.body)).toContain('no configured acquirer sends payouts')
  }
  expect(await checked).toContain('It supports all that Guichê needs.')
  expect(await findBreaches(shop.db)).toEqual([])
})

type Transaction = Record<string, unknown> & { status: string; amountRefunded?: number }

type Shop = {
  psp: Pick<SimulatorProcess, 'control'>
  db: Db
  /** The output of `guiche acquirer check` about the PSP. */
  check(): Promise<string>
  call<Body = Record<string, unknown>>(path: string, body?: object): Promise<{ status: number; body: Body }>
  fetch(id: string): Promise<Transaction>
  until(id: string, condition: (transaction: Transaction) => boolean): Promise<void>
  /** Creates a transaction, pays it at the PSP, and waits until the gateway knows. */
  buy(amount: number, how?: { behaviour: 'callback_never' }): Promise<{ id: string; endToEnd: string }>
  /** Waits for a webhook, and verifies its signature. */
  untilDelivered(type: string, id: string): Promise<void>
}

async function openShop(dialect: string): Promise<Shop> {
  const bank = await createEmptyDatabase()
  cleanups.push(bank.drop)
  const psp = await startTlsSimulator(dialect, { dataDir: folder.dataDir, databaseUrl: bank.connectionString })
  cleanups.push(psp.stop)
  const receiver = await startTestReceiver()
  cleanups.push(receiver.stop)

  const secretKey = newSecretKey()
  const lines: Record<string, unknown>[] = []
  const gateway = await startTestService({
    // The simulator and its certificates have the real time.
    clock: { ...manualClock(), now: () => new Date() },
    environment: { ACQUIRERS_FILE: acquirersFile, SECRET_KEY: secretKey, WEBHOOK_ALLOW_PRIVATE: 'true' },
    onLog: (line) => lines.push(line),
  })
  cleanups.push(gateway.stop)
  const { db } = gateway
  const client = await register(db, secretKey)
  const token = await fetchToken(gateway.baseUrl, client)

  async function call<Body>(path: string, body?: object): Promise<{ status: number; body: Body }> {
    const answer = await fetch(gateway.baseUrl + path, {
      method: body ? 'POST' : 'GET',
      headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    })
    return { status: answer.status, body: (await answer.json()) as Body }
  }

  const fetchOne = async (id: string) => (await call<Transaction>(`/transaction/${id}`)).body

  async function until(id: string, condition: (transaction: Transaction) => boolean): Promise<void> {
    let last: Transaction | null = null
    await eventually(
      async () => {
        last = await fetchOne(id)
        return condition(last)
      },
      () => `${JSON.stringify(last)}\n${JSON.stringify(lines.filter(({ level }) => Number(level) >= 40))}`,
    )
  }

  return {
    psp,
    db,
    async check() {
      const { stdout, stderr } = await commandLine.run(['acquirer', 'check', `simulated-${dialect}`])
      return stdout + stderr
    },
    call,
    fetch: fetchOne,
    until,
    async buy(amount, how) {
      const made = await call<{ id: string; pixResponse: { uri: string } }>('/transaction', {
        amount,
        paymentMethod: 'PIX',
        pix: {},
        webhookUrl: receiver.url,
      })
      expect(made.status, JSON.stringify([made.body, lines.slice(-5)])).toBe(201)
      const { id, pixResponse } = made.body
      const paid = await psp.control<{ endToEndId: string }>('payment', { uri: pixResponse.uri, ...how })
      expect(paid.status, JSON.stringify(paid.body)).toBe(200)
      if (how) await enqueueJob(db, { name: 'transactions.poll', payload: {}, key: 'transactions.poll' })
      await until(id, ({ status }) => status === 'PAID')
      return { id, endToEnd: paid.body.endToEndId }
    },
    untilDelivered: async (type, id) => await untilDelivered(receiver, { type, id, secret: client.webhookSecret }),
  }
}

async function untilDelivered(
  { received }: TestReceiver,
  { type, id, secret }: { type: string; id: string; secret: string },
): Promise<void> {
  await eventually(() => received.some(({ event }) => event.type === type && event.data.id === id))
  for (const { body, headers } of received) new Webhook(secret).verify(body, headers as Record<string, string>)
}

/** A dispute that is reported, and then accepted. */
async function dispute(shop: Shop, { id, endToEnd }: { id: string; endToEnd: string }): Promise<void> {
  const opened = await shop.psp.control<{ id: string }>('infraction', { endToEndId: endToEnd })
  expect(opened.status, JSON.stringify(opened.body)).toBe(200)
  // Read by a schedule, so the test runs the job instead of waiting.
  const readUntil = async (status: string) =>
    await eventually(async () => {
      await enqueueJob(shop.db, { name: 'transactions.disputes', payload: {}, key: 'transactions.disputes' })
      return (await shop.fetch(id)).status === status
    })
  await readUntil('BLOCKED')
  const decided = await shop.psp.control('decision', { reference: opened.body.id, decision: 'accept' })
  expect(decided.status, JSON.stringify(decided.body)).toBe(200)
  await readUntil('INFRACTION')
}

async function register(db: Db, secretKey: string) {
  const key = parseSecretKey(secretKey)
  if (!key) throw new Error('the new key is not valid')
  const clock = { now: () => new Date() }
  return await db.transaction(
    async (tx) => await createMerchant(tx, { clock, key }, { name: 'A shop', scopes: [...scopes] }),
  )
}

import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { checkOptions, type Payments, usePayments } from '../../plugins/medusa/src/payments.ts'
import { Guiche } from '../../sdk/src/index.ts'
import { createTestEvent, signWebhook } from '../../sdk/src/testing.ts'
import { sql } from '../../src/db/sql.ts'
import { manualClock } from '../support/clock.ts'
import { createEmptyDatabase } from '../support/database.ts'
import { openDatabaseProxy } from '../support/database-proxy.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { eventually, startTestReceiver, type TestReceiver } from '../support/webhooks.ts'

let service: TestService
let guiche: Guiche
/** Takes the place of Medusa's route for webhooks, which passes headers and raw body on. */
let medusa: TestReceiver
let payments: Payments
let sessions = 0

beforeAll(async () => {
  // Real time, since webhooks expire.
  service = await startTestService({ clock: manualClock(new Date()) })
  guiche = new Guiche({ ...service.sandbox, baseUrl: service.baseUrl })
  medusa = await startTestReceiver()
  payments = usePayments({
    ...service.sandbox,
    baseUrl: service.baseUrl,
    backendUrl: `${new URL(medusa.url).origin}/`,
  })
})
afterAll(async () => {
  await medusa.stop()
  await service.stop()
})

const total = { amount: 25.9, currency: 'brl' }

async function initiate() {
  sessions += 1
  const sessionId = `payses_test_${sessions}`
  const { id, status, data } = await payments.initiate({ session_id: sessionId }, total)
  expect(status).toBe('pending')
  return { id, sessionId, data, uri: String(data.uri) }
}

async function initiatePaid() {
  const payment = await initiate()
  await guiche.sandbox.pay({ uri: payment.uri })
  await guiche.transactions.waitFor(payment.id, 'PAID')
  return payment
}

/** What the provider makes of the deliveries of a transaction, in their order. */
async function readWebhooks(id: string, type: string, count = 1) {
  const find = () => medusa.received.filter(({ event }) => event.data.id === id)
  await eventually(() => find().filter(({ event }) => event.type === type).length >= count)
  return await Promise.all(find().map(({ headers, body }) => payments.readWebhook(headers, Buffer.from(body))))
}

describe('a payment of Medusa', () => {
  it('is captured by the webhook of its Pix', async () => {
    const { id, sessionId, data, uri } = await initiate()
    expect(data).toMatchObject({ id, session_id: sessionId, uri: expect.stringMatching(/^000201/), amount: 2590 })
    expect(await (await fetch(String(data.paymentUrl))).text()).toContain(uri)
    expect(await payments.getStatus(data)).toEqual({ status: 'pending', data })
    await expect(payments.capture(data)).rejects.toThrow('not paid: pending')

    await guiche.sandbox.pay({ uri })
    expect(await readWebhooks(id, 'transaction.paid')).toEqual([
      { action: 'not_supported' },
      { action: 'captured', data: { session_id: sessionId, amount: 25.9 } },
    ])
    expect(medusa.received.at(-1)?.path).toBe('/hooks/payment/guiche_guiche')
    expect(await payments.getStatus(data)).toEqual({ status: 'captured', data })
    expect(await payments.capture(data)).toEqual({ data })
    expect((await payments.retrieve(data)).data).toMatchObject({ status: 'PAID', externalCode: sessionId })
  })

  it('is captured by a webhook that Medusa queued for a day', async () => {
    const paid = createTestEvent('transaction.paid', { metadata: { session_id: 'payses_queued' } })
    const timestamp = new Date(Date.now() - 24 * 60 * 60 * 1_000)
    const { headers, body } = await signWebhook(service.sandbox.webhookSecret, paid, { timestamp })
    expect(await payments.readWebhook(headers, body)).toMatchObject({ action: 'captured' })
  })

  it('is one charge when Medusa initiates it twice', async () => {
    const { id, sessionId } = await initiate()
    expect((await payments.initiate({ session_id: sessionId }, total)).id).toBe(id)
    expect(await guiche.transactions.list({ externalCode: sessionId }).all()).toHaveLength(1)
  })

  it('is rounded to the cent, since Medusa does not round its totals', async () => {
    for (const [amount, cents] of [
      [25.994, 2599],
      [25.999, 2600],
      [1.005, 101],
      [28.595, 2860],
    ] as const) {
      sessions += 1
      const payment = await payments.initiate({ session_id: `payses_test_${sessions}` }, { ...total, amount })
      expect(payment.data).toMatchObject({ amount: cents })
    }
    const { id, data } = await initiatePaid()
    await payments.refund(data, 25.904)
    expect(await guiche.transactions.get(id)).toMatchObject({ status: 'REFUNDED', amountRefunded: 2590 })
  })

  it('has a new code when its amount changes, and the former one cannot be paid', async () => {
    const { id, data, uri } = await initiate()
    expect(await payments.update(data, total)).toMatchObject({ data: { id } })
    const changed = await payments.update(data, { ...total, amount: 30 })
    expect(changed).toMatchObject({ status: 'pending', data: { amount: 3000, session_id: data.session_id } })
    expect(changed.data.id).not.toBe(id)
    await expect(guiche.sandbox.pay({ uri })).rejects.toMatchObject({ code: 'payment_refused' })
    expect(await payments.getStatus(data)).toMatchObject({ status: 'error' })
  })

  it('has a code that can be paid when its amount changes back', async () => {
    const { id, data, sessionId } = await initiate()
    const changed = await payments.update(data, { ...total, amount: 30 })
    const back = await payments.update(changed.data, total)
    expect(back).toMatchObject({ status: 'pending', data: { amount: 2590, session_id: sessionId } })
    expect(back.data.id).not.toBe(id)
    // The response was lost, and Medusa repeats the request.
    expect(await payments.update(changed.data, total)).toEqual(back)
    await expect(guiche.sandbox.pay({ uri: String(changed.data.uri) })).rejects.toMatchObject({
      code: 'payment_refused',
    })
    await guiche.sandbox.pay({ uri: String(back.data.uri) })
    await guiche.transactions.waitFor(String(back.data.id), ({ status }) => status === 'PAID')
  })

  it('is created with another key after a charge that the bank left unanswered and then refused', async () => {
    const { id, sessionId } = await initiate()
    await service.db.query(sql`
      update transactions set pix_uri = null, pix_expires_at = null, statuses = array['PENDING', 'FAILED'],
        status_dates = array[created_at, created_at], error_message = 'chave bloqueada', check_at = null
      where id = ${id}`)
    const { data } = await payments.initiate({ session_id: sessionId }, total)
    expect(data).toMatchObject({ id: expect.not.stringMatching(id), uri: expect.stringMatching(/^000201/) })
    expect(await payments.initiate({ session_id: sessionId }, total)).toMatchObject({ id: data.id })
    expect(await guiche.transactions.list({ externalCode: sessionId }).all()).toHaveLength(2)
  })

  it('is not created when the bank refuses it', async () => {
    const data = { session_id: 'payses_refused_by_bank' }
    await expect(payments.initiate(data, { ...total, amount: 42204.22 })).rejects.toMatchObject({
      code: 'acquirer_refused',
    })
  })

  it('is canceled while it is open, and not once it is paid', async () => {
    const { id, data, uri } = await initiate()
    for (const _ of ['once', 'twice']) expect(await payments.cancel(data)).toEqual({ data })
    expect((await guiche.transactions.get(id)).status).toBe('FAILED')
    await expect(guiche.sandbox.pay({ uri })).rejects.toMatchObject({ code: 'payment_refused' })
    expect(await payments.cancel({})).toEqual({ data: {} })
    const paid = await initiatePaid()
    await expect(payments.cancel(paid.data)).rejects.toMatchObject({ code: 'cancel_not_possible' })
    await expect(payments.update(paid.data, { ...total, amount: 30 })).rejects.toMatchObject({
      code: 'cancel_not_possible',
    })
    // No code is left that could be paid too.
    expect(await guiche.transactions.list({ externalCode: paid.sessionId }).all()).toHaveLength(1)
  })

  it('is refunded in parts, each once, even when Medusa does not record the first try', async () => {
    const { id, sessionId, data } = await initiatePaid()
    const first = await payments.refund(data, 5.9)
    expect(first.data).toMatchObject({ id, refunds: 1 })
    // The response was lost: Medusa still has the previous data.
    await expect(payments.refund(data, 6)).rejects.toThrow('Refund that amount first')
    expect(await payments.refund(data, 5.9)).toEqual(first)
    expect(await guiche.transactions.get(id)).toMatchObject({ status: 'PAID', amountRefunded: 590 })
    const second = await payments.refund(first.data, 5.9)
    expect(await guiche.transactions.get(id)).toMatchObject({ amountRefunded: 1180 })
    await expect(payments.refund(second.data, 20)).rejects.toMatchObject({ code: 'refund_not_possible' })
    const captured = (await readWebhooks(id, 'transaction.paid', 3)).filter(({ action }) => action === 'captured')
    expect(captured).toEqual([{ action: 'captured', data: { session_id: sessionId, amount: 25.9 } }])
    await payments.refund(second.data, 14.1)
    expect(await payments.getStatus(data)).toMatchObject({ status: 'canceled' })
  })

  it('is refused in another currency, and with a webhook of somebody else', async () => {
    const data = { session_id: 'payses_refused' }
    await expect(payments.initiate(data, { ...total, currency: 'usd' })).rejects.toThrow('Pix is paid in BRL')
    await expect(payments.getStatus(data)).rejects.toThrow('has no id')

    const paid = createTestEvent('transaction.paid', { metadata: { session_id: 'payses_forged' } })
    const forged = await signWebhook(`whsec_${btoa('of somebody else')}`, paid)
    await expect(payments.readWebhook(forged.headers, forged.body)).rejects.toThrow('No signature matches')
    for (const event of [createTestEvent('transaction.paid'), createTestEvent('withdrawal.processed')]) {
      const { headers, body } = await signWebhook(service.sandbox.webhookSecret, event)
      expect(await payments.readWebhook(headers, body)).toEqual({ action: 'not_supported' })
    }
    expect(() => checkOptions({ baseUrl: 'https://pix.example.com' })).toThrow('needs clientId, clientSecret')
  })
})

/** A folder in which `npm install @medusajs/framework @medusajs/payment` was run: 280 MB, so not installed for this. */
const medusaFolder = process.env.GUICHE_MEDUSA ?? ''

it.skipIf(medusaFolder === '')('the provider compiles with Medusa, and works in its payment module', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'guiche-medusa-'))
  const database = await createEmptyDatabase()
  // Medusa cannot connect to a Unix socket.
  const proxy = await openDatabaseProxy(database.connectionString)
  try {
    const run = promisify(execFile)
    await symlink(resolve(medusaFolder, 'node_modules'), join(folder, 'node_modules'))
    const plugin = join(folder, 'plugin')
    await cp('plugins/medusa', plugin, { recursive: true })
    await mkdir(join(plugin, 'node_modules/@guiche'), { recursive: true })
    await cp('sdk', join(plugin, 'node_modules/@guiche/sdk'), { recursive: true })
    await symlink(resolve('node_modules/@types'), join(plugin, 'node_modules/@types'))
    await run(resolve('node_modules/.bin/tsc'), ['-p', plugin])
    await cp('test/sdk/shop/medusa.mjs', join(plugin, 'shop.mjs'))
    const { stdout } = await run(process.execPath, ['shop.mjs'], {
      cwd: plugin,
      env: {
        PATH: process.env.PATH,
        LOG_LEVEL: 'error',
        DATABASE_URL: proxy.connectionString,
        GUICHE_SANDBOX: JSON.stringify({ ...service.sandbox, baseUrl: service.baseUrl }),
      },
    })
    const expected = 'Session: id was not authorized with the provider.\ncaptured true 25.9\npaid true 5.9\ncompleted\n'
    // Medusa's migrations print before it.
    expect(stdout.slice(-expected.length)).toBe(expected)
  } finally {
    await proxy.stop()
    await database.drop()
    await rm(folder, { recursive: true })
  }
})

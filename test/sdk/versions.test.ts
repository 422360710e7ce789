import { execFile, spawnSync } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Guiche, GuicheError, verifyWebhook } from '../../sdk/src/index.ts'
import { signWebhook } from '../../sdk/src/testing.ts'
import { findPython } from '../support/python.ts'

/**
 * The SDKs against a service that is newer than they are, which has fields, statuses, events and errors that they do
 * not know, and against one that is older and lacks some that they know.
 */

const hasPhp =
  spawnSync('php', ['-r', 'exit(PHP_VERSION_ID >= 80100 && extension_loaded("curl") ? 0 : 1);']).status === 0
const python = findPython('httpx') ?? ''
const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'

const page = { total: 1, totalPages: 1, currentPage: 1, perPage: 20, nextCursor: null }
const position = '1-9f6c1b5a'
const newField = { priority: 'high' }
const newer = {
  transaction: {
    ...{ id: 'an-id', amount: 2590, status: 'SETTLED', updatedAt: '2030-01-01T00:00:00.000Z', amountPaid: 2590 },
    disputes: [{ id: 'd', status: 'APPEALED', ...newField }],
    failureCode: 'unlucky',
    customer: { name: 'Maria', document: { number: '529', type: 'PASSPORT', ...newField }, ...newField },
    ...newField,
  },
  withdrawal: { id: 'w', hold: 'astrology', ...newField },
  events: [
    { id: 'e', type: 'transaction.settled', data: { id: 'an-id', status: 'SETTLED', sequence: 4 } },
    { id: 'f', type: 'wallet.opened', data: { id: 'wallet', owners: ['Maria'], sequence: 1 } },
  ],
  errors: [{ field: 'amount', code: 'unlucky', message: 'is unlucky', ...newField }],
}
const older = {
  transaction: { id: 'an-id', amount: 2590, status: 'SETTLED', disputes: [{ status: 'OPEN' }], pixResponse: {} },
  withdrawal: { id: 'w' },
  events: [{ type: 'transaction.paid', data: { id: 'an-id', status: 'PAID' } }],
  errors: [{ field: 'amount', message: 'is too much' }],
}
const services = { newer, older }
type Version = keyof typeof services

const expected = {
  newer: {
    fetched: ['SETTLED', 2590, '2030-01-01T00:00:00.000Z', 2590, ['APPEALED'], 'high'],
    created: ['an-id', 'astrology'],
    listed: ['SETTLED'],
    fed: [
      ['transaction.settled', 'an-id', position],
      ['wallet.opened', 'wallet', position],
    ],
    verified: ['wallet.opened', 'wallet'],
    waited: 'SETTLED',
    refused: ['unlucky_day', 422, [['amount', 'unlucky']]],
  },
  older: {
    fetched: ['SETTLED', 2590, null, null, ['OPEN'], null],
    created: ['an-id', null],
    listed: ['SETTLED'],
    fed: [['transaction.paid', 'an-id', position]],
    verified: ['transaction.paid', 'an-id'],
    waited: 'SETTLED',
    refused: ['unlucky_day', 422, [['amount', null]]],
  },
}

describe.each(['newer', 'older'] as const)('the answers of a %s service are read', (version) => {
  let baseUrl = ''
  let webhook = ''
  const server = createServer((request, response) => {
    const [status, body] = answer(version, `${request.method} ${request.url?.split('?')[0]}`)
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  beforeAll(async () => {
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
    baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    webhook = JSON.stringify(await signWebhook(secret, JSON.stringify(services[version].events.at(-1))))
  })
  afterAll(() => {
    server.close()
  })

  const run = async (program: string, ...args: string[]) => {
    const env = { PATH: process.env.PATH, PYTHONPATH: resolve('sdk-python/src'), PYTHONDONTWRITEBYTECODE: '1' }
    const { stdout, stderr } = await promisify(execFile)(program, [...args, baseUrl, secret, webhook], { env })
    return [JSON.parse(stdout), stderr]
  }

  it('by the JavaScript SDK', async () => {
    expect(await readWithJavaScript(baseUrl, JSON.parse(webhook))).toEqual(expected[version])
  })

  it.skipIf(!hasPhp)('by the PHP SDK', async () => {
    const found = await run('php', 'test/sdk/versions/versions.php', resolve('sdk-php/autoload.php'))
    expect(found).toEqual([expected[version], ''])
  })

  it.skipIf(python === '').each(['sync', 'async'])('by the Python SDK: %s', async (kind) => {
    expect(await run(python, 'test/sdk/versions/versions.py', kind)).toEqual([expected[version], ''])
  })
})

function answer(version: Version, route: string): [status: number, body: object] {
  const { transaction, withdrawal, events, errors } = services[version]
  const more = version === 'newer' ? newField : {}
  switch (route) {
    case 'POST /auth/token':
      return [200, { access_token: 'a-token', token_type: 'Bearer', expires_in_sec: 900, ...more }]
    case 'POST /transaction':
      return [201, transaction]
    case 'GET /transaction/an-id':
      return [200, transaction]
    case 'GET /transaction':
      return [200, { ...page, ...more, data: [transaction] }]
    case 'POST /withdrawal':
      return [201, withdrawal]
    case 'GET /event': {
      const data = events.map((event, index) => ({ number: index + 1, position, ...event }))
      return [200, { data, next: position, hasMore: false, ...more }]
    }
    default:
      return [422, { code: 'unlucky_day', detail: 'Not today.', errors, ...more }]
  }
}

async function readWithJavaScript(baseUrl: string, { headers, body }: Awaited<ReturnType<typeof signWebhook>>) {
  const guiche = new Guiche({ baseUrl, clientId: 'a-shop', clientSecret: 'a-secret', maxRetries: 0 })
  const transaction = await guiche.transactions.get('an-id')
  const { data: listed } = await guiche.transactions.list().page()
  const { data: fed } = await guiche.events.read({ after: 'start' })
  const event = await verifyWebhook(secret, headers, body)
  const refusal = await guiche.transactions.refund('an-id').catch((error: unknown) => error)
  const created = await guiche.transactions.create({ amount: 2590 })
  const withdrawal = await guiche.withdrawals.create({
    amount: 100,
    pixKey: { key: 'maria@example.com', type: 'EMAIL' },
  })
  const isSettled = ({ status }: { status: string }) => status === 'SETTLED'
  return {
    fetched: [
      transaction.status,
      transaction.amount,
      transaction.updatedAt ?? null,
      transaction.amountPaid ?? null,
      (transaction.disputes ?? []).map(({ status }) => status),
      'priority' in transaction ? transaction.priority : null,
    ],
    created: [created.id, withdrawal.hold ?? null],
    listed: listed.map(({ status }) => status),
    fed: fed.map((one) => [one.type, one.data.id, one.position]),
    verified: [event.type, event.data.id],
    waited: (await guiche.transactions.waitFor('an-id', isSettled, { timeoutMs: 5_000 })).status,
    refused:
      refusal instanceof GuicheError
        ? [refusal.code, refusal.status, refusal.errors.map(({ field, code }) => [field, code ?? null])]
        : refusal,
  }
}

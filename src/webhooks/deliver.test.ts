import { randomUUID } from 'node:crypto'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { Webhook } from 'standardwebhooks'
import { describe, expect, it, onTestFinished } from 'vitest'
import { deliveryFixture } from '../../test/support/delivery-fixture.ts'
import { eventually } from '../../test/support/webhooks.ts'
import type { RecordVersion } from './payload.ts'
import { rotateWebhookSecret } from './secrets.ts'

const second = 1000
const minute = 60 * second
const hour = 60 * minute

const fixture = deliveryFixture()
const { key, clock, logged, loadRecords, setUp, work, receive, inTurn, enqueue, deliveries, until, untilAttempts } =
  fixture

describe('a delivery', () => {
  it('carries id, type, time and the record with its sequence, and the official verifier accepts it', async () => {
    await setUp()
    const receiver = await receive()
    const recordId = randomUUID()
    await enqueue(`${receiver.url}?token=a`, { recordId, sequence: 3, status: 'PAID', snapshot: { status: 'PAID' } })
    work()
    await receiver.until(1)
    const [one] = receiver.received
    const event = new Webhook(fixture.merchant.secret).verify(one?.body ?? '', flat(one?.headers))
    expect(event).toEqual({
      id: one?.headers['webhook-id'],
      type: 'transaction.paid',
      timestamp: clock.now().toISOString(),
      data: { id: recordId, amount: 1234, status: 'PAID', sequence: 3 },
    })
    expect(one?.path).toBe('/hook?token=a')
    expect(one?.headers).toMatchObject({ 'content-type': 'application/json', 'user-agent': 'Guiche-Webhooks/1' })
    await until('delivered')
    const [delivery] = await deliveries()
    expect(delivery).toMatchObject({ last_status: 204, last_error: null, finished_at: clock.now() })
    expect(delivery?.attempts).toMatchObject([{ number: 1, status: 204, error: null }])
  })

  it('is accepted with the former and with the new secret during a rotation', async () => {
    await setUp()
    const receiver = await receive()
    const { secret: next } = await rotateWebhookSecret(fixture.database.db, {
      by: { actor: 'cli:test' },
      key,
      merchantId: fixture.merchant.merchantId,
      now: clock.now(),
    })
    await enqueue(receiver.url)
    work()
    await receiver.until(1)
    const [one] = receiver.received
    for (const secret of [fixture.merchant.secret, next]) {
      expect(() => new Webhook(secret).verify(one?.body ?? '', flat(one?.headers))).not.toThrow()
    }
  })

  it('is sent at once when the worker is woken', async () => {
    await setUp()
    const receiver = await receive()
    // Polling would find nothing within this test. After it records an attempt the worker checks once more, and might
    // find the next event then: hence several.
    const worker = work({ pollMs: hour })
    for (let count = 1; count <= 5; count += 1) {
      await enqueue(receiver.url)
      worker.wake()
      await until('delivered', count)
    }
  })

  it('is found by polling without a notification', async () => {
    await setUp()
    const receiver = await receive()
    work({ pollMs: 10 })
    for (let count = 1; count <= 5; count += 1) {
      await enqueue(receiver.url)
      await until('delivered', count)
    }
  })

  it('is repeated on schedule with the same bytes, and is exhausted after twelve attempts', async () => {
    await setUp()
    const receiver = await receive((response) => response.writeHead(500).end('no'))
    await enqueue(receiver.url, { snapshot: { b: 1, a: 'ã' } })
    work()
    const waits = [5, 30, 120, 300, 900, 3600, 10_800, 21_600, 43_200, 86_400, 86_400]
    for (const [index, wait] of waits.entries()) {
      await untilAttempts(index + 1)
      const [delivery] = await deliveries()
      expect(delivery?.next_attempt_at).toEqual(new Date(clock.now().getTime() + wait * second))
      clock.advance(wait * second - 1)
      await new Promise((done) => setTimeout(done, 25))
      expect(receiver.requests()).toBe(index + 1)
      clock.advance(1)
    }
    await until('exhausted')
    expect(receiver.received).toHaveLength(12)
    expect(new Set(receiver.received.map(({ body }) => body)).size).toBe(1)
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-timestamp'])).size).toBe(12)
    expect(JSON.stringify(logged)).not.toContain('/hook')
  })

  it.each([
    ['seconds', () => '3600'],
    ['a date', () => new Date(clock.now().getTime() + hour).toUTCString()],
  ])('is postponed by Retry-After in %s', async (_, header) => {
    await setUp()
    clock.set(new Date(Math.ceil(Date.now() / 1000) * 1000))
    const receiver = await receive((response) => response.writeHead(503, { 'retry-after': header() }).end())
    await enqueue(receiver.url)
    work()
    await untilAttempts(1)
    expect((await deliveries())[0]?.next_attempt_at).toEqual(new Date(clock.now().getTime() + hour))
  })

  it('stops at 410', async () => {
    await setUp()
    const receiver = await inTurn(410)
    await enqueue(receiver.url)
    work()
    await until('gone')
    expect((await deliveries())[0]).toMatchObject({ last_status: 410, next_attempt_at: null })
  })

  it('fails on a redirect, which is not followed', async () => {
    await setUp()
    const elsewhere = await receive()
    const receiver = await receive((response) => response.writeHead(307, { location: elsewhere.url }).end())
    await enqueue(receiver.url)
    work()
    await untilAttempts(1)
    expect((await deliveries())[0]).toMatchObject({ state: 'pending', last_status: 307 })
    expect(elsewhere.requests()).toBe(0)
  })

  it('fails without a response in time, and when the connection breaks or is refused', async () => {
    await setUp()
    const hanging = await receive(() => {})
    const breaking = await receive((response) => response.destroy())
    const closed = await receive()
    await closed.stop()
    const untilTried = async () =>
      await eventually(async () => (await deliveries()).every((one) => one.attempts.length === 1))
    for (const { url } of [breaking, closed]) await enqueue(url)
    const first = work()
    await untilTried()
    await first.stop()
    await enqueue(hanging.url)
    work({ deadlineMs: 200 })
    await untilTried()
    const errors = new Map((await deliveries()).map((one) => [one.url, one.last_error]))
    expect(errors.get(hanging.url)).toBe('No answer in time')
    expect(errors.get(breaking.url)).toBe('The connection was closed before an answer')
    expect(errors.get(closed.url)).toBe('The connection was refused')
  })

  it('sends a receiver fewer requests after a connection timed out', async () => {
    await setUp()
    const sockets: Socket[] = []
    // Closes the first connection at once, which is a quick failure. The others never get an answer to their TLS.
    const server = createServer((socket) => {
      socket.on('error', () => {})
      if (sockets.push(socket) === 1) socket.destroy()
    })
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
    onTestFinished(() => {
      server.close()
      for (const socket of sockets) socket.destroy()
    })
    const receiver = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
    await enqueue(`${receiver}/hook`)
    const worker = work({ quickMs: minute })
    await untilAttempts(1)
    expect(worker.reserve(receiver)).not.toBeNull()
    clock.advance(5 * second)
    await untilAttempts(2)
    expect((await deliveries())[0]?.last_error).toBe('The connection timed out')
    expect(worker.reserve(receiver)).toBeNull()
  })

  it('fails when the response headers trickle in beyond the deadline', async () => {
    await setUp()
    const receiver = await receive((response) => {
      const timer = setInterval(() => response.writeProcessing(), 20)
      response.on('close', () => clearInterval(timer))
    })
    await enqueue(receiver.url)
    work({ deadlineMs: 200 })
    await untilAttempts(1)
    expect((await deliveries())[0]).toMatchObject({ state: 'pending', last_error: 'No answer in time' })
  })

  it('succeeds however long the response body is, and reads little of it', async () => {
    await setUp()
    let sent = 0
    const receiver = await receive((response) => {
      const chunk = Buffer.alloc(64 * 1024)
      const write = () => {
        while (!response.destroyed && sent < 200_000_000) {
          sent += chunk.length
          if (!response.write(chunk)) return response.once('drain', write)
        }
      }
      write()
    })
    const dripping = await receive((response) => void response.writeHead(200).write('a'))
    await enqueue(receiver.url)
    await enqueue(dripping.url)
    work()
    await until('delivered', 2)
    expect(sent).toBeLessThan(20_000_000)
  })

  it('fails without a request when the address may not be called', async () => {
    await setUp()
    const receiver = await receive()
    await enqueue(receiver.url)
    work({}, { allowPrivate: false })
    await untilAttempts(1)
    expect((await deliveries())[0]?.last_error).toBe(
      'The address of the receiver may not be called (WEBHOOK_ALLOW_PRIVATE=true allows private hosts)',
    )
    expect(receiver.requests()).toBe(0)
  })

  it('whose payload cannot be built delays no other, and counts no attempt', async () => {
    await setUp()
    const receiver = await receive()
    const broken = randomUUID()
    const load = async (versions: RecordVersion[]) => {
      if (versions.some(({ recordId }) => recordId === broken)) throw new Error('no such record')
      return loadRecords(versions)
    }
    await enqueue(receiver.url, { recordId: broken })
    await enqueue(receiver.url)
    work({}, { loadRecords: { transaction: load, withdrawal: load } })
    await until('delivered')
    expect((await deliveries()).filter((one) => one.attempts.length === 0)).toHaveLength(1)
  })
})

function flat(headers: object = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
}

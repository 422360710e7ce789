import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { type FeedEvent, Guiche } from '../../sdk/src/index.ts'
import { connect, type Db, sql } from '../../src/db/sql.ts'
import { enqueueEvents } from '../../src/webhooks/outbox.ts'
import { createRandom, lengthOf } from '../support/random.ts'
import { fetchToken, smallestTransaction, startTestService, type TestService } from '../support/service.ts'
import { registerShop } from '../support/token.ts'
import { eventually, startTestReceiver, type TestReceiver, testEvent } from '../support/webhooks.ts'

/** Writes each event's position and id as one line, as a consumer would save both in one transaction. */
const followerScript = `
  import { appendFileSync, existsSync, readFileSync } from 'node:fs'
  import { Guiche } from '@guiche/sdk'
  const [file, start] = process.argv.slice(1)
  const last = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\\n').at(-1) : ''
  const guiche = new Guiche(JSON.parse(process.env.GUICHE))
  for await (const { id, position } of guiche.events.follow({ after: last.split(' ')[0] || start }))
    appendFileSync(file, position + ' ' + id + '\\n')
`

type Item = { number: number; position: string; id: string; type: string; data: { id: string; sequence: number } }
type Feed = { data: Item[]; next: string; hasMore: boolean; code: string }

let service: TestService
let receiver: TestReceiver
let guiche: Guiche
let writers: Db
beforeAll(async () => {
  service = await startTestService()
  receiver = await startTestReceiver()
  guiche = new Guiche({ ...service.sandbox, baseUrl: service.baseUrl })
  writers = connect({
    connectionString: service.connectionString,
    connectionsMax: 20,
    waitMs: 60_000,
    onError: () => {},
  })
})
afterAll(async () => {
  await writers.pool.end()
  await receiver.stop()
  await service.stop()
})

const read = async (query: string, token = service.token) => await service.call<Feed>(`/event?${query}`, { token })

async function create(more: object = {}): Promise<{ id: string; pixResponse: { uri: string } }> {
  return (
    await service.call<{ id: string; pixResponse: { uri: string } }>('/transaction', {
      body: smallestTransaction({ ...more }),
    })
  ).body
}

describe('the feed of events', () => {
  let paid: string

  it('has each event once, oldest first, byte for byte as in its webhook', async () => {
    const { id, pixResponse } = await create({ webhookUrl: receiver.url })
    paid = id
    await service.call('/sandbox/payment', { body: { uri: pixResponse.uri } })
    await receiver.until(2)
    const { body } = await read('after=start')
    expect(body.data.map(({ number, type, data }) => [number, type, data.id, data.sequence])).toEqual([
      [1, 'transaction.pix_qrcode_generated', id, 1],
      [2, 'transaction.paid', id, 2],
    ])
    expect(body).toMatchObject({ next: body.data[1]?.position, hasMore: false })
    const sent = body.data.map(({ number: _, position: __, ...event }) => JSON.stringify(event))
    expect(sent).toEqual(receiver.received.map((one) => one.body))
    const one = await service.call(`/event/${body.data[1]?.id}`)
    expect([one.status, one.text]).toEqual([200, sent[1]])
  })

  it('is read onwards from a saved position, page by page', async () => {
    for (let count = 0; count < 3; count += 1) await create()
    const first = (await read('after=start&limit=2')).body
    expect([first.data.length, first.hasMore, first.next]).toEqual([2, true, first.data[1]?.position])
    const rest = (await read(`after=${first.next}`)).body
    expect([rest.data.map(({ number }) => number), rest.hasMore]).toEqual([[3, 4, 5], false])
    expect((await read(`after=${rest.next}`)).body).toEqual({ data: [], next: rest.next, hasMore: false })
    expect((await read('after=end')).body).toEqual({ data: [], next: rest.next, hasMore: false })
  })

  it('is filtered by type, record and date, and `next` moves past events that do not match', async () => {
    const all = (await read('after=start')).body
    const types = (await read('after=start&type=transaction.paid&type=withdrawal.processed')).body
    expect([types.data.map(({ number }) => number), types.next]).toEqual([[2], all.next])
    const ofRecord = (await read(`after=start&recordId=${paid.toUpperCase()}`)).body
    expect([ofRecord.data.map(({ number }) => number), ofRecord.next]).toEqual([[1, 2], all.next])
    expect((await read(`after=start&recordId=${paid}&limit=1`)).body).toMatchObject({
      next: all.data[0]?.position,
      hasMore: true,
    })
    const later = new Date(service.clock.now().getTime() + 1).toISOString()
    expect((await read(`after=start&startDate=${later}`)).body).toEqual({ data: [], next: all.next, hasMore: false })
    expect((await read(`after=start&startDate=${service.clock.now().toISOString()}`)).body.data).toHaveLength(5)
  })

  it('reads startDate as every list does: without an offset it is UTC, and the fraction may follow a comma', async () => {
    const now = service.clock.now().toISOString()
    vi.stubEnv('TZ', 'America/Sao_Paulo')
    for (const startDate of [now.slice(0, -1), now.replace('.', ','), '2026-01-21T12:00:00,5Z']) {
      const { status, body } = await read(`after=start&startDate=${startDate}`)
      expect([startDate, status, body.data.length]).toEqual([startDate, 200, 5])
    }
    vi.unstubAllEnvs()
  })

  it('waits for an event on request', async () => {
    const { next } = (await read('after=end')).body
    expect((await read(`after=${next}&wait=1`)).body).toEqual({ data: [], next, hasMore: false })
    const anyEvent = read(`after=${next}&wait=20`)
    const onlyPaid = read(`after=${next}&wait=20&type=transaction.paid`)
    const { id, pixResponse } = await create()
    expect((await anyEvent).body.data.map(({ data }) => data.id)).toEqual([id])
    await service.call('/sandbox/payment', { body: { uri: pixResponse.uri } })
    expect((await onlyPaid).body.data.map(({ type }) => type)).toEqual(['transaction.paid'])
  })

  it('refuses a position that it does not have', async () => {
    const { next, data } = (await read('after=start')).body
    const other = await fetchToken(service.baseUrl, await registerShop(service))
    for (const [position, token] of [
      [`${data.length + 1}-00000000`],
      ['2-00000000'],
      ['999999999999999-00000000'],
      [next, other],
    ])
      expect((await read(`after=${position}`, token)).body.code, position).toBe('position_unknown')
    expect((await read('after=start', other)).body).toEqual({ data: [], next: 'start', hasMore: false })
    expect((await read('after=end', other)).body.next).toBe('start')
    for (const query of [
      'after=0',
      'after=',
      'after=2',
      'limit=2',
      'type=transaction.paid',
      'after=start&perPage=2',
      'after=start&limit=101',
      'after=start&wait=21',
      'after=start&type=transaction.gone',
    ])
      expect((await read(query)).body.code, query).toBe('validation_failed')
  })

  it('shows payloads only to a token that may read the records', async () => {
    const { data } = (await read('after=start')).body
    const token = await fetchTokenWith(['webhook.read', 'transaction.read'])
    expect((await read('after=start', token)).body.code).toBe('insufficient_scope')
    expect((await read('after=start&type=transaction.paid', token)).status).toBe(200)
    expect((await service.call(`/event/${data[0]?.id}`, { token })).status).toBe(200)
    const only = await fetchTokenWith(['webhook.read'])
    expect((await service.call(`/event/${data[0]?.id}`, { token: only })).status).toBe(403)
    expect((await service.call(`/event/${randomUUID()}`)).status).toBe(404)
  })

  it('and webhook endpoints need the same scopes', async () => {
    type Endpoint = { id: string; code: string }
    const token = await fetchTokenWith(['webhook.write', 'transaction.read'])
    const url = (name: string) => `https://loja.example.com/${name}`
    const send = async (path: string, method: string, body: object) =>
      await service.call<Endpoint>(path, { token, method, body })
    const paid = await send('/webhook-endpoint', 'POST', { url: url('a'), eventTypes: ['transaction.paid'] })
    expect(paid.status, paid.text).toBe(201)
    const all = await service.call<Endpoint>('/webhook-endpoint', { body: { url: url('b') } })
    const [ofPaid, ofAll] = [paid, all].map(({ body }) => `/webhook-endpoint/${body.id}`) as [string, string]
    expect((await send(ofPaid, 'PATCH', { url: url('c') })).status).toBe(200)
    expect((await send(ofAll, 'PATCH', { enabled: false })).status).toBe(200)
    for (const refused of [
      await send('/webhook-endpoint', 'POST', { url: url('d') }),
      await send('/webhook-endpoint', 'POST', { url: url('d'), eventTypes: ['withdrawal.processed'] }),
      await send(ofPaid, 'PATCH', { eventTypes: ['*'] }),
      await send(ofAll, 'PATCH', { url: url('d') }),
      await send(ofAll, 'PATCH', { enabled: true }),
    ])
      expect([refused.status, refused.body.code], refused.text).toEqual([403, 'insufficient_scope'])
    for (const path of [ofPaid, ofAll]) expect((await service.call(path, { method: 'DELETE' })).status).toBe(204)
  })

  async function fetchTokenWith(scopes: string[]): Promise<string> {
    const { clientId, clientSecret } = service.sandbox
    const body = new URLSearchParams({
      client_id: clientId,
      client_secret: clientSecret,
      grant_type: 'client_credentials',
      scope: scopes.join(' '),
    })
    const answer = (await (await fetch(`${service.baseUrl}/auth/token`, { method: 'POST', body })).json()) as {
      access_token: string
    }
    return answer.access_token
  }
})

describe('followers of the feed', () => {
  const seed = Math.floor(Math.random() * 1e9)

  it(`get every event once and in order from 50 concurrent writers, with ~100 restarts (seed ${seed})`, async () => {
    const perWriter = lengthOf({ short: 20, long: 200 })
    const random = createRandom(seed)
    const start = (await read('after=end')).body.next
    const [{ merchantId } = { merchantId: '' }] = await service.db.query<{ merchantId: string }>(sql`
      select merchant_id as "merchantId" from clients where client_id = ${service.sandbox.clientId}`)
    const records = await Promise.all(Array.from({ length: 50 }, async () => (await create()).id))
    const eventOf = (recordId: string, sequence: number) =>
      testEvent({ merchantId, recordId, sequence, status: 'PAID', occurredAt: service.clock.now() })

    // One database transaction stays open until more than half of the events have been read.
    const lateId = (await create()).id
    let mayLateCommit = false
    const late = writers.transaction(async (tx) => {
      enqueueEvents(tx, [eventOf(lateId, 2)])
      // The connections of a service end a transaction that is idle for a minute.
      while (!mayLateCommit) {
        await tx.query(sql`select`)
        await sleep(100)
      }
    })
    const writing = Promise.all(
      records.map(async (recordId) => {
        for (let sequence = 2; sequence < perWriter + 2; sequence += 1)
          await writers.transaction(async (tx) => {
            enqueueEvents(tx, [eventOf(recordId, sequence)])
            if (random.percent(20)) await sleep(random.below(10))
          })
      }),
    )
    const total = 51 + 50 * perWriter + 1
    const seen: FeedEvent[] = []
    let seenBeforeLate = 0
    const steady = followAll(start, total)
    let position = start
    let runs = 0
    while (seen.length < total) {
      runs += 1
      const killed = new AbortController()
      let left = 1 + random.below(Math.ceil((2 * total) / 110))
      // Stops after `left` events, or at a random moment, which may be in the middle of a request.
      const timer = random.percent(30) ? setTimeout(() => killed.abort(), random.below(30)) : undefined
      try {
        for await (const event of guiche.events.follow({ after: position }, { signal: killed.signal })) {
          seen.push(event)
          position = event.position
          left -= 1
          if (left === 0 || seen.length === total) break
        }
      } catch (error) {
        if (!killed.signal.aborted) throw error
      }
      clearTimeout(timer)
      if (seen.length > total / 2 && seenBeforeLate === 0) {
        seenBeforeLate = seen.at(-1)?.number ?? 0
        mayLateCommit = true
      }
    }
    await Promise.all([writing, late])
    expect(runs).toBeGreaterThan(80)

    const numberBefore = (seen[0]?.number ?? 0) - 1
    expect(seen.map(({ number }) => number)).toEqual(seen.map((_, index) => numberBefore + index + 1))
    const written = await service.db.query<{ id: string }>(sql`
      select id from events where merchant_id = ${merchantId} and record_id = any (${[...records, lateId]}::uuid[]) order by id`)
    expect(seen.map(({ id }) => id).toSorted()).toEqual(written.map(({ id }) => id))
    for (const recordId of records) {
      const sequences = seen.filter(({ data }) => data.id === recordId).map(({ data }) => data.sequence)
      expect(sequences).toEqual(Array.from({ length: perWriter + 1 }, (_, index) => index + 1))
    }
    expect(seen.find(({ data }) => data.id === lateId && data.sequence === 2)?.number).toBeGreaterThan(seenBeforeLate)
    expect(await steady).toEqual(seen.map(({ id }) => id))
  })

  it('in processes of their own, which are killed again and again, get every event once', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'guiche-follower-'))
    const file = join(folder, 'events')
    const start = (await read('after=end')).body.next
    const kills = lengthOf({ short: 4, long: 100 })
    const count = 5 * (kills + 1)
    const lines = async () => (await readFile(file, 'utf8').catch(() => '')).split('\n').slice(0, -1)
    for (let killed = 0; killed <= kills; killed += 1) {
      const before = (await lines()).length
      const follower = spawn(process.execPath, ['--input-type=module', '-e', followerScript, file, start], {
        env: { ...process.env, GUICHE: JSON.stringify({ ...service.sandbox, baseUrl: service.baseUrl }) },
        stdio: ['ignore', 'ignore', 'inherit'],
      })
      const ended = once(follower, 'exit')
      const creating = Promise.all(Array.from({ length: 5 }, async () => await create()))
      await eventually(async () => (await lines()).length >= (killed < kills ? before + 1 : count))
      follower.kill('SIGKILL')
      await ended
      await creating
    }
    const ids = (await lines()).map((line) => line.split(' ')[1])
    expect(new Set(ids).size).toBe(count)
    expect(ids).toEqual(await followAll(start, count))
    await rm(folder, { recursive: true })
  }, 240_000)

  async function followAll(after: string, total: number): Promise<string[]> {
    const ids: string[] = []
    for await (const { id } of guiche.events.follow({ after })) if (ids.push(id) === total) break
    return ids
  }
})

it('a request that waits for an event is answered when the service stops', async () => {
  const stopping = await startTestService()
  const startedAt = performance.now()
  const waiting = stopping
    .call('/event?after=start&wait=20')
    .then(({ status, body }) => ({ status, body, ms: performance.now() - startedAt }))
  // Sent later, and answered after a second: the first request waits by then.
  await stopping.call('/event?after=start&wait=1')
  await stopping.stop()
  const { ms, ...answer } = await waiting
  expect(answer).toEqual({ status: 200, body: { data: [], next: 'start', hasMore: false } })
  expect(ms).toBeLessThan(20_000)
})

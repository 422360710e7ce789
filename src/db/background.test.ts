import { setTimeout as sleep } from 'node:timers/promises'
import { Registry } from 'prom-client'
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest'
import { createEmptyDatabase, type TestDatabase } from '../../test/support/database.ts'
import { noteRequest } from '../lib/load.ts'
import { startBackground } from './background.ts'
import { runWithoutTimeout } from './long-work.ts'
import { connect, type Db, sql } from './sql.ts'

let database: TestDatabase
/** With a pool of five, background work has one connection. */
let db: Db

beforeAll(async () => {
  database = await createEmptyDatabase()
  db = connect({ connectionString: database.connectionString, connectionsMax: 5, waitMs: 60_000, onError: () => {} })
})

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

afterAll(async () => {
  await db.pool.end()
  await database.drop()
})

function createGate(): { opened: Promise<void>; open: () => void } {
  let open = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open }
}

async function readMetrics(registry: Registry) {
  const values = (await registry.getMetricsAsJSON()).flatMap(({ name, values: all }) =>
    all.map(({ labels, value }) => [Object.values(labels).join() || name, value] as const),
  )
  return Object.fromEntries(values)
}

/** As long as a slow request handler. */
function blockEventLoop(ms: number): void {
  for (const until = performance.now() + ms; performance.now() < until; );
}

it('does one step after the other on its part of the connections, while requests find others', async () => {
  await Promise.all([db.query(sql`select`), db.query(sql`select`)])
  // With fake timers no step reaches its longest wait, however long the request takes.
  vi.useFakeTimers({ toFake: ['setTimeout'] })
  const background = startBackground(db)
  const gate = createGate()
  const order: string[] = []
  const first = background.db.transaction(async () => {
    await gate.opened
    order.push('first')
  })
  const second = background.db.query(sql`select`).then(() => order.push('second'))
  // Long enough for the second step, if it had begun.
  await db.query(sql`select pg_sleep(0.1)`)
  order.push('request')
  vi.useRealTimers()
  gate.open()
  await Promise.all([first, second])
  expect(order).toEqual(['request', 'first', 'second'])
  background.stop()
})

it('ends a step that waits for another step', async () => {
  const background = startBackground(db)
  const rows = await background.db.transaction(async () => await background.db.query(sql`select 1 as n`))
  expect(rows).toEqual([{ n: 1 }])
  background.stop()
})

it('starts no step in place of one that waited for too long', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout'] })
  // Steps that take no time are followed by no pause.
  vi.spyOn(performance, 'now').mockReturnValue(0)
  const background = startBackground(db)
  const gates = [createGate(), createGate(), createGate()] as const
  const order: string[] = []
  const steps = gates.map(({ opened }, index) =>
    background.db.transaction(async (tx) => {
      await opened
      // Long enough for the waiting step, if it had begun.
      await tx.query(sql`select`)
      order.push(`step ${index}`)
    }),
  )
  // The others start beside the first.
  vi.advanceTimersByTime(1_000)
  steps.push(
    background.db.transaction(async () => {
      order.push('waiting')
    }),
  )
  vi.useRealTimers()
  for (const index of [2, 1, 0] as const) {
    gates[index].open()
    await steps[index]
  }
  await Promise.all(steps)
  expect(order).toEqual(['step 2', 'step 1', 'step 0', 'waiting'])
  background.stop()
})

it('makes each statement of a long read a step, and counts what they waited for requests', async () => {
  const registry = new Registry()
  const background = startBackground(db, registry)
  // The event loop is measured every ten milliseconds, from the first reading after a request on.
  noteRequest()
  await readMetrics(registry)
  for (let count = 0; count < 5; count += 1) {
    blockEventLoop(60)
    noteRequest()
    await sleep(1)
  }
  const share = (await readMetrics(registry)).guiche_background_share
  await runWithoutTimeout(background.db, { readOnly: true }, async (tx) => {
    for (let count = 0; count < 3; count += 1) await tx.query(sql`select pg_sleep(0.02)`)
  })
  const { working, waiting } = await readMetrics(registry)
  expect(share).toBe(0.1)
  expect(working).toBeGreaterThan(0.06)
  // At least as long as the steps: the first two pauses are between them.
  expect(waiting).toBeGreaterThan(0.04)
  background.stop()
})

it('keeps nobody waiting during a stop', async () => {
  await Promise.all([db.query(sql`select`), db.query(sql`select`)])
  // With fake timers only the stop starts the second step.
  vi.useFakeTimers({ toFake: ['setTimeout'] })
  const background = startBackground(db)
  const gate = createGate()
  const first = background.db.transaction(async () => await gate.opened)
  const second = background.db.query(sql`select 2 as n`)
  background.stop()
  expect(await second).toEqual([{ n: 2 }])
  gate.open()
  await first
})

it('sends no statement of a long read that waited for its turn until the stop', async () => {
  await Promise.all([db.query(sql`select`), db.query(sql`select`), db.query(sql`select`)])
  // With fake timers the statement waits for its turn until the stop, however slow the machine is.
  vi.useFakeTimers({ toFake: ['setTimeout'] })
  const background = startBackground(db)
  const stopping = new AbortController()
  const [gate, queued] = [createGate(), createGate()]
  const first = background.db.transaction(async () => await gate.opened)
  const options = { readOnly: true, stopping: stopping.signal }
  const read = runWithoutTimeout(background.db, options, async (tx) => {
    const rows = tx.query(sql`select pg_sleep(5)`)
    queued.open()
    return await rows
  })
  const outcome = expect(read).rejects.toMatchObject({ name: 'AbortError' })
  await queued.opened
  // A stop of the service calls these in the same order (worker.ts).
  background.stop()
  stopping.abort()
  gate.open()
  await first
  await outcome
})

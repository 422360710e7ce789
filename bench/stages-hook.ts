import { subscribe } from 'node:diagnostics_channel'
import type { IncomingMessage } from 'node:http'
import { PerformanceObserver, performance } from 'node:perf_hooks'
import { isMainThread } from 'node:worker_threads'
import type pg from 'pg'
import type { BatchMessage } from '../src/lib/batch.ts'
import type { DeliveryStages } from '../src/webhooks/deliver.ts'
import { type Histogram, record } from './load/histogram.ts'
import { deliveryParts, partOf, type Recorded, stageNames, writeSnapshots } from './stages.ts'

// Loaded into each process of the service before its own code (`node --import`). Records how long requests, batches,
// statements and deliveries spend in each stage, and the delays of the event loop, garbage collection and the pool. It
// changes no behaviour, and costs about 2 % of Guichê's processor time.

const loopEveryMs = 5

if (isMainThread) {
  const recorded = writeSnapshots()
  const { find } = recorded
  watchRequests(find)
  // The driver is inside the service's bundle and cannot be imported here, so the service publishes it.
  subscribe('guiche:driver', (driver) => watchStatements(driver as typeof pg, recorded))
  watchLoop(find)
  const batchWait = cached((name) => find(stageNames.batchWait(name)))
  const batchRun = cached((name) => find(stageNames.batchRun(name)))
  subscribe('guiche:batch', (message) => {
    const { name, waitsMs, runMs } = message as BatchMessage
    for (const waitMs of waitsMs) recordMs(batchWait(name), waitMs)
    recordMs(batchRun(name), runMs)
  })
  const parts = deliveryParts.map((part) => ({ histogram: find(part.name), part }))
  subscribe('guiche:delivery', (message) => {
    for (const { histogram, part } of parts) recordMs(histogram, partOf(message as DeliveryStages, part))
  })
}

type Find = Recorded['find']

function recordMs(histogram: Histogram, ms: number): void {
  record(histogram, ms * 1000)
}

/** Remembers each result, so that a name is not built again for every one of thousands of values per second. */
function cached<Made>(make: (key: string) => Made): (key: string) => Made {
  const made = new Map<string, Made>()
  return (key) => {
    const found = made.get(key) ?? make(key)
    made.set(key, found)
    return found
  }
}

type RouteStages = { before: Histogram; handler: Histogram; answer: Histogram }

const timesKey = Symbol('times')
/** By `performance.now()`. */
type Times = { readAt: number; handlerAt: number; handledAt: number; stages: RouteStages | null }
type Raw = IncomingMessage & { [timesKey]?: Times }
type Handled = { request: { raw: Raw }; async: boolean; route: { method: string; url: string } }

function watchRequests(find: Find): void {
  const toStages = cached((method) =>
    cached((url): RouteStages => {
      const route = `${method} ${url}`
      return {
        before: find(stageNames.beforeHandler(route)),
        handler: find(stageNames.handler(route)),
        answer: find(stageNames.answer(route)),
      }
    }),
  )
  subscribe('http.server.request.start', (message) => {
    const { request } = message as { request: Raw }
    request[timesKey] = { readAt: performance.now(), handlerAt: 0, handledAt: 0, stages: null }
  })
  subscribe('tracing:fastify.request.handler:start', (message) => {
    const { request, route } = message as Handled
    const times = request.raw[timesKey]
    if (!times) return
    times.handlerAt = performance.now()
    times.stages = toStages(route.method)(route.url)
  })
  const onHandled = (message: unknown) => {
    const times = (message as Handled).request.raw[timesKey]
    if (times) times.handledAt = performance.now()
  }
  subscribe('tracing:fastify.request.handler:end', (message) => {
    if (!(message as Handled).async) onHandled(message)
  })
  subscribe('tracing:fastify.request.handler:asyncEnd', onHandled)
  subscribe('http.server.response.finish', (message) => {
    const times = (message as { request: Raw }).request[timesKey]
    // A request that was refused before its handler has no stages.
    if (!times?.stages || times.handledAt === 0) return
    recordMs(times.stages.before, times.handlerAt - times.readAt)
    recordMs(times.stages.handler, times.handledAt - times.handlerAt)
    recordMs(times.stages.answer, performance.now() - times.handledAt)
  })
}

type Callback = (...results: unknown[]) => void

/** The service's pools and clients inherit from these prototypes, so replacing a method here affects all of them. */
function watchStatements({ Client, Pool }: typeof pg, { find, texts }: Recorded): void {
  const timed = (original: (...args: never[]) => unknown, toStage: (first: unknown) => Histogram | null) =>
    function (this: unknown, ...args: unknown[]): unknown {
      const stage = toStage(args[0])
      if (stage === null) return Reflect.apply(original, this, args)
      const startedAt = performance.now()
      const end = () => recordMs(stage, performance.now() - startedAt)
      const callback = args.at(-1)
      if (typeof callback === 'function')
        args[args.length - 1] = function (this: unknown, ...results: unknown[]) {
          end()
          return Reflect.apply(callback as Callback, this, results)
        }
      const result = Reflect.apply(original, this, args)
      if (result instanceof Promise) result.then(end, end)
      return result
    }
  const statement = cached((name) => find(stageNames.statement(name)))
  const poolWait = find(stageNames.poolWait)
  const pool = Pool.prototype as unknown as { connect: Callback }
  const client = Client.prototype as unknown as { query: Callback }
  Object.assign(pool, { connect: timed(pool.connect, () => poolWait) })
  Object.assign(client, {
    query: timed(client.query, (query) => {
      const { name, text = '', submit } = toStatement(query)
      // Not timed: a cursor or a COPY is answered in pieces.
      if (submit !== undefined) return null
      if (name === undefined) return statement(/^(?:begin|commit|rollback)\b/.exec(text)?.[0] ?? 'without a name')
      if (!texts.has(name)) texts.set(name, text)
      return statement(name)
    }),
  })
}

function toStatement(query: unknown): { name?: string; text?: string; submit?: unknown } {
  return typeof query === 'string' ? { text: query } : (query as object)
}

function watchLoop(find: Find): void {
  const [loop, garbage] = [find(stageNames.loop), find(stageNames.garbage)]
  let last = performance.now()
  setInterval(() => {
    const now = performance.now()
    // What arrives while the loop is blocked waits until it is free. So a late tick is recorded as several waits, one
    // for each `loopEveryMs` of the block in which something could have arrived.
    for (let lateMs = now - last - loopEveryMs; lateMs >= 0; lateMs -= loopEveryMs) recordMs(loop, lateMs)
    last = now
  }, loopEveryMs).unref()
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) recordMs(garbage, duration)
  }).observe({ entryTypes: ['gc'] })
}

import cluster from 'node:cluster'
import { AggregatorRegistry } from 'prom-client'
import type { Shared } from './app.ts'
import type { RateLimiter } from './http/rate-limit.ts'
import type { Service } from './service.ts'

/** What one of several processes has to do with the others: all of it by way of the one that started them (processes.ts). */
export type Siblings = Shared & {
  /** Does what is done once at a start. */
  isFirst: boolean
}

/** What a service that is ready says of itself. */
export type Facts = Omit<Service, 'stop'>

/** What the processes tell the one that started them. */
export type ToParent =
  | { kind: 'ready'; service: Facts }
  | { kind: 'failed'; reason: string }
  | { kind: 'taken'; taken: Taken[] }
  | { kind: 'connections'; count: number }
  | { kind: 'metrics?'; question: number }

/** And what it tells them. */
export type ToChild =
  | { kind: 'stop' }
  | { kind: 'taken'; taken: Taken[] }
  | { kind: 'connections'; count: number; of: number }
  | { kind: 'metrics'; question: number; answer: Answer }

type Answer = { text: string } | { failure: string }

type Taken = { limit: string; key: string; count: number }

/** For so long a limit may be overdrawn: each process allows what it does not know to be taken. */
const tellEveryMs = 20

/** So often they tell each other how many connections they have. Who was not heard for three times as long does not count. */
const connectionsEveryMs = 1_000
/** Fewer too many than this, and than this share of what would be even, are worth nobody's new connection. */
const excessMin = 4
const excessShareMin = 0.25

/** What the processes are called with. */
export const siblingArgument = 'sibling'

/** For a process that was started as one of several. */
export function joinSiblings(): Siblings {
  const limiters = new Map<string, RateLimiter>()
  let untold = new Map<string, Taken>()
  const questions = new Map<number, (answer: Answer) => void>()
  const connections = new Map<number, { count: number; heardAt: number }>()
  // From now on it answers what this process has measured: nothing yet.
  new AggregatorRegistry()
  hear((message) => {
    if (message.kind === 'taken')
      for (const { limit, key, count } of message.taken) limiters.get(limit)?.debit(key, count)
    if (message.kind === 'connections')
      connections.set(message.of, { count: message.count, heardAt: performance.now() })
    if (message.kind === 'metrics') questions.get(message.question)?.(message.answer)
  })

  function note(limit: string, key: string, count: 1 | -1): void {
    if (untold.size === 0) setTimeout(tellAll, tellEveryMs).unref()
    const at = `${limit} ${key}`
    const noted = untold.get(at)
    if (noted) noted.count += count
    else untold.set(at, { limit, key, count })
  }

  function tellAll(): void {
    tellParent({ kind: 'taken', taken: [...untold.values()] })
    untold = new Map()
  }

  return {
    isFirst: cluster.worker?.id === 1,
    shareLimiter(limiter) {
      if (limiter.limit.perSecond === 0) return limiter
      limiters.set(limiter.name, limiter)
      return {
        ...limiter,
        take(key) {
          const taken = limiter.take(key)
          if (taken.isAllowed) note(limiter.name, key, 1)
          return taken
        },
        giveBack(key) {
          limiter.giveBack(key)
          note(limiter.name, key, -1)
        },
      }
    },
    shareConnections(count) {
      let excess = 0
      setInterval(() => {
        tellParent({ kind: 'connections', count: count() })
        const since = performance.now() - 3 * connectionsEveryMs
        for (const [id, { heardAt }] of connections) if (heardAt < since) connections.delete(id)
        excess = excessOf(
          count(),
          [...connections.values()].map((other) => other.count),
        )
      }, connectionsEveryMs).unref()
      return () => excess > 0 && excess-- > 0
    },
    readMetrics(own) {
      AggregatorRegistry.setRegistries([own])
      let asked = 0
      return async () => {
        const question = asked++
        const answer = await new Promise<Answer>((resolve) => {
          questions.set(question, resolve)
          tellParent({ kind: 'metrics?', question })
        })
        questions.delete(question)
        if ('failure' in answer) throw new Error(`the metrics of all processes could not be read: ${answer.failure}`)
        return answer.text
      }
    },
  }
}

/** How many more connections a process has than it would have if all had as many; 0 where that is not much. */
function excessOf(own: number, others: number[]): number {
  const even = (own + others.reduce((sum, count) => sum + count, 0)) / (others.length + 1)
  const excess = Math.floor(own - even)
  return excess >= Math.max(excessMin, even * excessShareMin) ? excess : 0
}

export function tellParent(message: ToParent, then = () => {}): void {
  process.send?.(message, then)
}

/** Calls back when this process is asked to end: by the one that started it, or by a person who means this one. */
export function onStop(stop: () => void): void {
  let isAsked = false
  const once = () => {
    if (isAsked) return
    isAsked = true
    stop()
  }
  hear(({ kind }) => kind === 'stop' && once())
  process.on('SIGTERM', once)
  // A terminal's Ctrl-C reaches all at once, and the one that started them passes it on.
  process.on('SIGINT', () => {})
}

function hear(listener: (message: ToChild) => void): void {
  process.on('message', listener)
}

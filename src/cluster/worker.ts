import cluster from 'node:cluster'
import { AggregatorRegistry } from 'prom-client'
import type { Shared } from '../app.ts'
import type { Service } from '../service.ts'

/** How one of several processes communicates with the others, always through the primary process (primary.ts). */
export type ClusterWorker = Shared & {
  /** Whether this process does what is done once per start. */
  isFirst: boolean
}

/** What a service reports when it is ready. */
export type ServiceFacts = Omit<Service, 'stop'>

/** Messages from the processes to the primary. */
export type ToPrimary =
  | { kind: 'ready'; service: ServiceFacts }
  | { kind: 'failed'; reason: string }
  | { kind: 'connections'; count: number }
  | { kind: 'metrics?'; question: number }

/** Messages from the primary to the processes. */
export type ToWorker =
  | { kind: 'stop' }
  | { kind: 'connections'; count: number; from: number }
  | { kind: 'metrics'; question: number; answer: Answer }

type Answer = { text: string } | { failure: string }

/**
 * How often the processes exchange their number of connections. A process not heard from for three times as long does
 * not count.
 */
const connectionsEveryMs = 1_000
/** A smaller excess than this, or than this share of the average, is not worth the cost of a new connection. */
const excessMin = 4
const excessShareMin = 0.25

/** The argument with which the processes are started. */
export const workerArgument = 'worker'

/** For a process that was started as one of several. */
export function joinCluster(): ClusterWorker {
  const questions = new Map<number, (answer: Answer) => void>()
  const connections = new Map<number, { count: number; receivedAt: number }>()
  // From now on this process answers when the primary asks for metrics. Until `readMetrics` has set its registry, the
  // answer has none.
  new AggregatorRegistry()
  onMessage((message) => {
    if (message.kind === 'connections')
      connections.set(message.from, { count: message.count, receivedAt: performance.now() })
    if (message.kind === 'metrics') questions.get(message.question)?.(message.answer)
  })

  return {
    isFirst: cluster.worker?.id === 1,
    shareConnections(count) {
      let excess = 0
      setInterval(() => {
        sendToPrimary({ kind: 'connections', count: count() })
        const since = performance.now() - 3 * connectionsEveryMs
        for (const [id, { receivedAt }] of connections) if (receivedAt < since) connections.delete(id)
        excess = excessOf(
          count(),
          [...connections.values()].map((other) => other.count),
        )
      }, connectionsEveryMs).unref()
      return () => excess > 0 && excess-- > 0
    },
    readMetrics(own) {
      AggregatorRegistry.setRegistries([own])
      let count = 0
      return async () => {
        const question = count++
        const answer = await new Promise<Answer>((resolve) => {
          questions.set(question, resolve)
          sendToPrimary({ kind: 'metrics?', question })
        })
        questions.delete(question)
        if ('failure' in answer) throw new Error(`the metrics of all processes could not be read: ${answer.failure}`)
        return answer.text
      }
    },
  }
}

/** How many connections a process has above the average; 0 if that is insignificant. */
function excessOf(own: number, others: number[]): number {
  const even = (own + others.reduce((sum, count) => sum + count, 0)) / (others.length + 1)
  const excess = Math.floor(own - even)
  return excess >= Math.max(excessMin, even * excessShareMin) ? excess : 0
}

export function sendToPrimary(message: ToPrimary, then = () => {}): void {
  process.send?.(message, then)
}

/** Calls back when this process has to stop: at a message from the primary, or at a signal to this process. */
export function onStop(stop: () => void): void {
  let isRequested = false
  const once = () => {
    if (isRequested) return
    isRequested = true
    stop()
  }
  onMessage(({ kind }) => kind === 'stop' && once())
  process.on('SIGTERM', once)
  // Ctrl-C in a terminal reaches all processes, and the primary already passes it on.
  process.on('SIGINT', () => {})
}

function onMessage(listener: (message: ToWorker) => void): void {
  process.on('message', listener)
}

import cluster, { type Worker } from 'node:cluster'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { AggregatorRegistry } from 'prom-client'
import type { Config } from '../config.ts'
import { openDatabase } from '../database.ts'
import { findFreePort } from '../port.ts'
import type { Service } from '../service.ts'
import { type ServiceFacts, type ToPrimary, type ToWorker, workerArgument } from './worker.ts'

/** The pause before a restart: a process that ended right after its start would probably do so again. */
const restartAfterMs = 1_000

/**
 * Runs the service as several processes that share a port and a database. This primary process owns the embedded
 * PostgreSQL, assigns each connection to a free process, and restarts processes that end. Each of them is a complete
 * service; messages between them pass through here (worker.ts).
 */
export async function startPrimary({
  config,
  log,
  program,
  onLost,
}: {
  config: Config
  log: Logger
  /** The path of the program that each process runs: this process may have been started by another one. */
  program: string
  /** Called when the embedded PostgreSQL ended and could not be restarted. */
  onLost?: (reason: Error) => void
}): Promise<Service> {
  if (!cluster.isPrimary)
    throw new Error('PROCESSES starts several processes: set it to 1 under a process manager that does so.')
  const port = config.port === 0 ? await findFreePort(config.host) : config.port
  const metrics = new AggregatorRegistry()
  cluster.setupPrimary({ exec: program, args: [workerArgument] })
  const database = await openDatabase({ config, log, role: 'service', onLost })
  let isStopping = false
  const ended = new Set<Promise<void>>()

  /** Resolves when the process serves. Afterwards it is replaced if it ends. */
  async function start(): Promise<ServiceFacts> {
    const child = cluster.fork({ PORT: String(port) })
    const end = new Promise<{ code: number | null; signal: string | null; error?: Error }>((resolve) => {
      // `close` comes after the last message of the process, unlike `exit`: a `failed` message is read first.
      child.process.once('close', (code, signal) => resolve({ code, signal }))
      child.on('error', (error) => {
        // Without a process id it was not started at all, and there is no `close`.
        if (child.process.pid === undefined) resolve({ code: null, signal: null, error })
        else log.warn({ pid: child.process.pid, err: error }, 'a process of the service could not be reached')
      })
    })
    const gone = end.then(() => void ended.delete(gone))
    ended.add(gone)
    const facts = await new Promise<ServiceFacts>((resolve, reject) => {
      child.on('message', (message: ToPrimary) => {
        if (message.kind === 'ready') resolve(message.service)
        else if (message.kind === 'failed') reject(new Error(message.reason))
        else if (message.kind === 'connections')
          for (const other of childrenBut(child)) send(other, { ...message, from: child.id })
        else if (message.kind === 'metrics?') void sendMetrics(child, message.question)
      })
      void end.then(({ code, signal, error }) =>
        reject(error ?? new Error(`a process ended with ${signal ?? code} before it was ready`)),
      )
    })
    // It started while the others were being stopped, and may have missed that message.
    if (isStopping) send(child, { kind: 'stop' })
    log.info({ pid: child.process.pid }, 'a process of the service is ready')
    void end.then(async (how) => {
      if (!isStopping) await replace({ pid: child.process.pid, ...how })
    })
    return facts
  }

  async function replace(former: object): Promise<void> {
    log.error(former, 'a process of the service ended unexpectedly and is replaced')
    while (!isStopping) {
      // This timer keeps the primary process alive even if all others have ended.
      await sleep(restartAfterMs)
      if (isStopping) return
      try {
        await start()
        return
      } catch (error) {
        // It was stopped while it started.
        if (isStopping) return
        log.error({ err: error }, 'a process of the service could not be started; trying again')
      }
    }
  }

  async function sendMetrics(child: Worker, question: number): Promise<void> {
    const answer = await metrics.clusterMetrics().then(
      (text) => ({ text }),
      (error: Error) => ({ failure: error.message }),
    )
    send(child, { kind: 'metrics', question, answer })
  }

  const stop = async () => {
    isStopping = true
    for (const child of childrenBut(null)) send(child, { kind: 'stop' })
    await Promise.all(ended)
    // Last, after everything that uses it has ended.
    await database.close()
  }

  try {
    // The first process does what is done once per start, and finds errors that would stop all of them.
    const facts = await start()
    await Promise.all(Array.from({ length: config.processes - 1 }, start))
    return { ...facts, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

function childrenBut(one: Worker | null): Worker[] {
  return Object.values(cluster.workers ?? {}).filter((child): child is Worker => child !== undefined && child !== one)
}

function send(child: Worker, message: ToWorker): void {
  // The process may end meanwhile: then the message is lost.
  if (child.isConnected()) child.send(message, () => {})
}

import { existsSync } from 'node:fs'
import type { Logger } from 'pino'
import { joinCluster, onStop, sendToPrimary, workerArgument } from './cluster/worker.ts'
import { type Config, readConfig } from './config.ts'
import { openDatabase } from './database.ts'
import { createLog } from './log.ts'
import type { Service } from './service.ts'
import { isOldNode, welcome } from './welcome.ts'

/**
 * A stop that takes longer than this, after STOP_DELAY_SECONDS, is aborted. Nothing is lost, because everything that was
 * acknowledged is committed.
 */
const stopMaxMs = 30_000

/** Advice for errors of the operating system and of PostgreSQL, by code. */
const hints: Record<string, string> = {
  EADDRINUSE: 'The port is in use: stop the other program, or set PORT to another port.',
  EADDRNOTAVAIL: 'This machine does not have that address: set HOST to one of its own, or to 0.0.0.0.',
  EACCES: 'This user has no permission: check HOST and PORT (below 1024 needs root) and DATA_DIR.',
  EEXIST: 'DATA_DIR is a file: set it to a folder.',
  ENOTDIR: 'A parent of DATA_DIR is a file: set it to a folder.',
  EROFS: 'DATA_DIR is not writable: set it to a writable folder.',
  ECONNREFUSED: 'The connection was refused: check DATABASE_URL, and that the database runs.',
  ENOTFOUND: 'The host does not exist: check DATABASE_URL.',
  '3D000': 'Create the database, or set DATABASE_URL to another one.',
  '28P01': 'Check user and password in DATABASE_URL.',
  '28000': 'Check the user in DATABASE_URL.',
  '42501': 'The user of DATABASE_URL needs the right to create schemas and tables in that database.',
}

if (existsSync('.env')) process.loadEnvFile('.env')
// After the constants above, which it reads.
if (process.argv[2] === workerArgument) await serveAsWorker()
else await serve()

async function serve(): Promise<void> {
  try {
    const config = readConfig(process.env)
    const log = createLog(config)
    const onLost = (reason: Error) => {
      log.fatal(
        { err: reason },
        'the service exits with 1 because it has no database: its supervisor should restart it',
      )
      process.exit(1)
    }
    const starting = start({ config, log, onLost })
    // Before it has started: until then Node.js would ignore signals as the first process of a container.
    stopOnSignals(starting, config, log)
    const service = await starting
    const isTerminal = config.logFormat === 'pretty'
    // Among collected log lines, the welcome screen is printed only when it has secrets that are shown once.
    if (isTerminal || service.newSandbox || service.firstAdminUrl)
      print(welcome(service, { ...config, isTerminal: process.stdout.isTTY }))
    if (!isTerminal) {
      const node = { node: process.version, ...(isOldNode() && { recommended: 'Node.js 24' }) }
      log.info({ baseUrl: service.baseUrl, processes: config.processes, ...node }, 'Guichê is ready')
    }
  } catch (error) {
    process.stderr.write(`\nGuichê could not start.\n${toReason(error)}\n\n`)
    process.exit(1)
  }
}

/** Each process loads only the code that it needs. */
async function start(options: { config: Config; log: Logger; onLost: (reason: Error) => void }): Promise<Service> {
  if (options.config.processes === 1) {
    // PostgreSQL starts while the code is loaded.
    const opening = openDatabase({ ...options, role: 'service' })
    const [{ startService }, database] = await Promise.all([import('./service.ts'), opening])
    return await startService({ ...options, database })
  }
  return await (await import('./cluster/primary.ts')).startPrimary({ ...options, program: import.meta.filename })
}

/** One of several processes. The primary process prints the welcome screen, or why the start failed. */
async function serveAsWorker(): Promise<void> {
  try {
    const config = readConfig(process.env)
    const log = createLog(config)
    const { startService } = await import('./service.ts')
    const { stop, ...service } = await startService({ config, log, clusterWorker: joinCluster() })
    onStop(() => end(Promise.resolve({ stop }), config, log))
    sendToPrimary({ kind: 'ready', service })
  } catch (error) {
    sendToPrimary({ kind: 'failed', reason: toReason(error) }, () => process.exit(1))
  }
}

type Started = Promise<Pick<Service, 'stop'>>

function stopOnSignals(started: Started, config: Config, log: Logger): void {
  let isStopping = false
  const onSignal = () => {
    // A second signal ends the process immediately.
    if (isStopping) process.exit(1)
    isStopping = true
    log.info('stopping: requests in progress are answered first')
    end(started, config, log, () => log.info('stopped'))
  }
  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
}

function end(started: Started, { stopDelaySeconds }: Config, log: Logger, onEnd = () => {}): void {
  const deadline = setTimeout(() => process.exit(1), stopDelaySeconds * 1_000 + stopMaxMs).unref()
  started
    .then(async ({ stop }) => {
      // A signal may come during a start that takes long: the stop has its time after it.
      deadline.refresh()
      await stop()
    })
    .then(
      () => {
        onEnd()
        process.exit(0)
      },
      (error: unknown) => {
        log.error({ err: error }, 'the stop failed')
        process.exit(1)
      },
    )
}

function toReason(error: unknown): string {
  return error instanceof Error ? explain(error) : String(error)
}

function explain(error: Error): string {
  const cause = error.cause instanceof Error ? `\n  because: ${error.cause.message}` : ''
  const hint = hints[(error as NodeJS.ErrnoException).code ?? '']
  if (hint) return `${error.message}\n${hint}`
  // Our own messages say what to do; other errors need their stack.
  return error.name === 'Error' || error.name === 'ConfigError' ? `${error.message}${cause}` : `${error.stack}${cause}`
}

function print(text: string): void {
  // A reader that has gone ends neither the log (log.ts) nor the service.
  process.stdout.on('error', () => {})
  process.stdout.write(text)
}

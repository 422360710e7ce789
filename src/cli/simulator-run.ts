import { join, resolve } from 'node:path'
import type { Logger } from 'pino'
import { type DialectName, dialectNames, isDialectName, quirksOf } from '../../simulator/dialects.ts'
import type { FaultProfileFields } from '../../simulator/faults/profile.ts'
import type { FaultProfileInput } from '../../simulator/faults/profile-store.ts'
import { presetNames } from '../../simulator/faults/traits.ts'
import { changeQuirks, describeQuirks, type Quirks } from '../../simulator/quirks.ts'
import { startSimulatorServer } from '../../simulator/server.ts'
import { createSimulator } from '../../simulator/simulator.ts'
import type { TlsFolder } from '../../simulator/tls-folder.ts'
import { type Config, readConfig } from '../config.ts'
import { startEmbeddedPostgres } from '../db/embedded.ts'
import { connect } from '../db/sql.ts'
import { systemClock } from '../lib/clock.ts'
import { createLog } from '../log.ts'
import { write } from './print.ts'
import { createCallbackSender } from './simulator-callbacks.ts'
import { findControlToken, type SimulatorConnection, writeAcquirersFile, writeConnection } from './simulator-files.ts'

export type SimulatorRun = {
  host: string
  port: number
  baseUrl?: string
  dialect?: string
  quirk?: string[]
  tls?: boolean
  tlsDir?: string
  callbackCa?: string
  controlToken?: string
  personality?: string
  seed?: number
}

const stopMaxMs = 15_000

/** Runs the simulated network alone, on a database of its own or DATABASE_URL, until a signal arrives. */
export async function runSimulator(options: SimulatorRun): Promise<void> {
  if (options.quirk?.includes('help')) return write(`${describeQuirks().join('\n')}\n`)
  const config = readConfig(process.env)
  const log = createLog(config)
  const onLost = (reason: Error) => {
    log.fatal({ err: reason }, 'the simulator exits with 1: it has no database')
    process.exit(1)
  }
  const { description, stop } = await startSimulator(options, { config, log, onLost })
  stopOnSignals(stop)
  write(description)
}

/** Resolves when it accepts requests, with the text that tells how to connect. */
export async function startSimulator(
  options: SimulatorRun,
  { config, log, onLost }: { config: Config; log: Logger; onLost: (reason: Error) => void },
): Promise<{ description: string; stop(): Promise<void> }> {
  const { quirk = [] } = options
  const dialect = toDialect(options.dialect)
  const quirks = changeQuirks(quirksOf(dialect), quirk)
  const faultProfile = toFaultProfile(options)
  const isPlain = options.dialect === undefined && quirk.length === 0
  const folder = join(config.dataDir, 'simulator')
  const stops: (() => Promise<unknown>)[] = []
  const stop = async () => {
    for (const step of stops.splice(0).reverse()) await step()
  }
  try {
    const tls = options.tls ? await openTls(options, folder) : null
    const url = toUrl(options)
    const callbacks = await createCallbackSender({ identity: tls?.server ?? null, caFile: options.callbackCa })
    stops.push(callbacks.close)

    const server = config.databaseUrl === null ? await startEmbeddedPostgres({ dataDir: folder, log, onLost }) : null
    if (server) stops.push(server.stop)
    const db = connect({
      connectionString: server?.connectionString ?? config.databaseUrl ?? '',
      connectionsMax: config.databaseConnectionsMax,
      waitMs: config.databaseWaitMs,
      onError: ({ name, message }) => log.warn({ name, reason: message }, 'an idle database connection broke'),
    })
    stops.push(async () => await db.pool.end())

    const controlToken = options.controlToken ?? (await findControlToken(folder))
    const simulator = await createSimulator({
      pool: db.pool,
      clock: systemClock,
      publicBaseUrl: url,
      sendCallback: callbacks.send,
      log,
      controlToken,
      ...(faultProfile && { personality: faultProfile }),
      ...(!isPlain && { dialect: quirks }),
    })
    stops.push(simulator.close)
    const { host, port } = options
    const running = await startSimulatorServer({ simulator, host, port, ...(tls && { tls }) }).catch(explainListening)
    stops.push(running.close)
    const connection = { url, controlToken, tls: tls?.paths ?? null }
    await writeConnection(folder, connection)
    const description = await describe({
      folder,
      connection,
      dialect,
      quirks,
      changed: quirk,
      isPlain: isPlain && !tls,
    })
    return { description: description + describeProfile(await simulator.personality()), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

function toDialect(name = 'generic'): DialectName {
  if (isDialectName(name)) return name
  throw new Error(`There is no dialect "${name}". Available: ${dialectNames.join(', ')}.`)
}

/**
 * Null without `--personality` and `--seed`: the bank behaves as in its last run. `--seed` alone keeps the personality.
 */
function toFaultProfile({ personality, seed }: SimulatorRun): FaultProfileInput | null {
  if (personality === undefined && seed === undefined) return null
  const name = presetNames.find((one) => one === personality)
  if (personality !== undefined && !name)
    throw new Error(`There is no personality "${personality}". Available: ${presetNames.join(', ')}.`)
  return { ...(name && { name }), ...(seed !== undefined && { seed }) }
}

function describeProfile({ name, seed }: FaultProfileFields): string {
  return name === 'honest'
    ? ''
    : `  Personality of the bank: ${name}, seed ${seed}. --personality honest turns the faults off.\n\n`
}

async function openTls({ host, baseUrl, tlsDir }: SimulatorRun, folder: string): Promise<TlsFolder> {
  const { openTlsFolder } = await import('../../simulator/tls-folder.ts')
  const others = [host, baseUrl && URL.canParse(baseUrl) ? new URL(baseUrl).hostname : ''].map((name) =>
    name.replace(/^\[|\]$/g, ''),
  )
  const hosts = [...new Set(['localhost', '127.0.0.1', '::1', ...others])].filter((name) => name !== '')
  return await openTlsFolder(resolve(tlsDir ?? join(folder, 'tls')), { hosts, now: systemClock.now() })
}

function toUrl({ tls, host, port, baseUrl }: SimulatorRun): string {
  if (baseUrl !== undefined) return baseUrl.replace(/\/+$/, '')
  const shown = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host
  return `${tls ? 'https' : 'http'}://${shown}:${port}`
}

function explainListening(error: NodeJS.ErrnoException): never {
  const hints: Record<string, string> = {
    EADDRINUSE: 'The port is in use: stop the other program, or choose another --port.',
    EADDRNOTAVAIL: 'This machine does not have that address: choose another --host.',
    EACCES: 'This user may not listen on this port: choose a --port of 1024 or above.',
    ENOTFOUND: 'The host does not exist: choose another --host.',
  }
  throw new Error(`${error.message}. ${hints[error.code ?? ''] ?? ''}`.trim(), { cause: error })
}

function stopOnSignals(stop: () => Promise<void>): void {
  let isStopping = false
  const onSignal = () => {
    // A second signal ends the process immediately.
    if (isStopping) process.exit(1)
    isStopping = true
    setTimeout(() => process.exit(1), stopMaxMs).unref()
    stop().then(
      () => process.exit(0),
      () => process.exit(1),
    )
  }
  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
}

async function describe(running: {
  folder: string
  connection: SimulatorConnection
  dialect: DialectName
  quirks: Quirks
  changed: string[]
  isPlain: boolean
}): Promise<string> {
  const { connection, dialect, quirks, changed } = running
  const start = `The simulated PIX network answers at ${connection.url}`
  const controls = `
  Control token  ${connection.controlToken}
                 It opens POST ${connection.url}/sandbox/…; npx guiche simulator pay '<code>' uses it.
`
  if (running.isPlain) return `${start}. Start Guichê with SIMULATOR_URL=${connection.url}\n${controls}\n`
  const settings = await writeAcquirersFile(running.folder, { connection, dialect, quirks })
  const tls =
    connection.tls &&
    `\n  Certificates   ${connection.tls.caFile} is the CA, ${connection.tls.pfxFile} the client certificate\n`
  return `${start} and speaks as ${[dialect, ...changed].join(', ')}.
${tls ?? ''}${controls}
  Start Guichê with ACQUIRERS_FILE=${settings.path}

${settings.text}
`
}

import type { Logger } from 'pino'
import { Registry } from 'prom-client'
import { createRequestObserver, observeAcquirers } from './acquirers/metrics.ts'
import { recordExchanges } from './acquirers/record.ts'
import { type Acquirers, createRegistry } from './acquirers/registry.ts'
import { createApp } from './app.ts'
import { checkCell, claimCell } from './auth/cell.ts'
import { loadSecretKey, replaceSecretKey } from './auth/secret-key.ts'
import { saveSetting } from './auth/store.ts'
import type { ClusterWorker } from './cluster/worker.ts'
import { baseUrlSetting, type Config, isLoopback, toBaseUrl } from './config.ts'
import { type OpenDatabase, openDatabase } from './database.ts'
import { keepDatabaseMark } from './database-mark.ts'
import type { Db } from './db/sql.ts'
import type { Environment } from './environment.ts'
import { createExchangeWriter } from './exchanges/write.ts'
import { listUnconfigured } from './explain/unconfigured-store.ts'
import type { Server } from './http/server.ts'
import { createInstance } from './jobs/instances.ts'
import { type Clock, systemClock } from './lib/clock.ts'
import { parseServers } from './lib/database-url.ts'
import { openNetwork } from './network.ts'
import { findFreePort } from './port.ts'
import { addProcessMetrics } from './process-metrics.ts'
import { registerCallbacks } from './registration.ts'
import { makeSandboxClient, revokeSandboxClient, type SandboxFile, takeSandboxToShow } from './sandbox-client.ts'
import { openReads } from './standby.ts'
import type { startTracing } from './tracing.ts'
import { inviteFirstAdmin } from './users/invite.ts'
import { version } from './version.ts'
import { startWorker, type Worker } from './worker.ts'

/** Connections that wait to be accepted. Node's default of 511 lets one host's burst delay others by a second. */
const backlogMax = 4_096

/** docs/monitoring.md has the command that installs them. */
const tracingPackages = ['api', 'exporter-trace-otlp-http', 'resources', 'sdk-trace-base'].map(
  (name) => `@opentelemetry/${name}`,
)

export type Service = {
  baseUrl: string
  /** The sandbox client's credentials, shown once at the first start that serves requests. */
  newSandbox: SandboxFile | null
  /** The link for creating the dashboard's first admin; null if there is one, or if this process invites none. */
  firstAdminUrl: string | null
  acquirers: string[]
  /** No real money moves. */
  isSimulated: boolean
  /** Finishes open requests, accepts no new ones, and stops everything, the database last. */
  stop(): Promise<void>
}

/** Creates and connects the parts of the service: configuration → database → acquirer → app and worker → listen. */
export async function startService({
  config,
  log,
  clock = systemClock,
  clusterWorker = null,
  database = null,
}: {
  config: Config
  log: Logger
  clock?: Clock
  /** Null if this is the service's only process here. */
  clusterWorker?: ClusterWorker | null
  /** As a service or a worker uses it. Opened here if it is null. */
  database?: OpenDatabase | null
}): Promise<Service> {
  const stops: (() => Promise<void>)[] = []
  const stop = async () => {
    // In reverse order of the start.
    for (const step of stops.splice(0).reverse()) await step()
  }
  try {
    const { db, close: closeDatabase } =
      database ?? (await openDatabase({ config, log, role: clusterWorker ? 'worker' : 'service' }))
    stops.push(closeDatabase)
    if (config.tracing) stops.push((await loadTracing({ ...config.tracing, version, log })).stop)
    const registry = new Registry()
    addProcessMetrics(registry)
    const port = config.port === 0 ? await findFreePort(config.host) : config.port
    const baseUrl = toBaseUrl({ ...config, port })

    // The only connection between app and worker, set once both exist.
    let app: Server | null = null
    let worker: Worker | null = null
    const network = await openNetwork({
      config,
      db,
      clock,
      log,
      baseUrl,
      postCallback: async (path, body) =>
        (await app?.inject({ method: 'POST', url: path, payload: body as object }))?.statusCode ?? 503,
    })
    stops.push(network.close)

    // Before anything is written: a start with the settings of another installation changes nothing here.
    await checkCell(db, config.cell)
    const isReplaced = await replaceSecretKey(db, { configured: config.secretKey, previous: config.secretKeyPrevious })
    if (isReplaced) log.info('SECRET_KEY was replaced: all secrets are now encrypted with the new key')
    const { key, isGenerated } = await loadSecretKey(db, config.secretKey)
    if (isGenerated && (config.databaseUrl !== null || config.isPublic)) {
      log.warn('SECRET_KEY is not set: a generated key is stored in the database, next to the secrets that it protects')
    }

    // A cell is one of several installations that share an address. A database belongs to one cell for ever.
    const cell = await claimCell(db, config.cell)

    warnOfUnsafeSettings({ config, log, environment: network.environment })
    observeAcquirers({ registry, clock, acquirers: network.acquirers })
    // An exchange is a request to an acquirer with its outcome. It is recorded without its content, and measured.
    const recorder = { write: createExchangeWriter({ db, log }), observe: createRequestObserver(registry), clock }
    const recorded = network.acquirers.map((one) => ({ ...one, acquirer: recordExchanges(one.acquirer, recorder) }))
    const acquirers = createRegistry(
      recorded.map(({ acquirer }) => acquirer),
      network.routes,
      cell,
    )
    const instance = await createInstance(db)
    const deps = { config, db, instance, clock, key, log, registry, acquirers, baseUrl, version }

    // Before anything is sent: notices if the database has lost commits, because an old backup was restored or a late
    // standby became the primary. Payouts are then frozen: the database no longer knows which ones have left.
    stops.push((await keepDatabaseMark({ ...deps, dataDir: config.dataDir })).stop)
    const { reads, close } = await openReads(deps)
    stops.push(close)

    app = await createApp({
      ...deps,
      reads,
      shared: clusterWorker,
      sandbox: network.sandbox,
      deliveries: {
        wake: () => worker?.deliveries.wake(),
        reserve: (receiver) => worker?.deliveries.reserve(receiver) ?? null,
        send: (...own) => worker?.deliveries.send(...own),
      },
      workOn: (notices) => worker?.workOn(notices),
      timedJobs: () => worker?.timedJobs ?? [],
    })
    // The sandbox client has all scopes, so it exists for simulated money only.
    if (network.sandbox) await makeSandboxClient({ ...deps, dataDir: config.dataDir })
    if (network.environment !== 'simulated') await revokeSandboxClient(deps)
    worker = await startWorker({
      ...deps,
      webhookAllowPrivate: config.webhookAllowPrivate,
      retention: config.retention,
      attributionThreshold: config.attributionThreshold,
      alerts: config.alerts,
      eventSink: config.eventSink,
    })
    stops.push(worker.stop)
    const server = app
    stops.push(async () => await server.close())
    await app.listen({ host: config.host, port, backlog: backlogMax })
    // Added only after `listen` has succeeded: before that there are no requests to finish.
    stops.push(async () => await server.drain(config.stopDelaySeconds * 1_000))
    stops.push((await registerCallbacks({ ...deps, cell }, recorded)).stop)
    await saveSetting(db, baseUrlSetting, baseUrl)
    await warnOfUnconfigured(deps)
    const newSandbox = network.sandbox && (await takeSandboxToShow({ db, dataDir: config.dataDir }))
    // Only the latest invitation is valid: the one of the process that shows it.
    const makesAdmins = config.oidc?.isOnly !== true && (clusterWorker === null || clusterWorker.isFirst)
    const firstAdminUrl = !makesAdmins ? null : await inviteFirstAdmin(db, { now: clock.now(), baseUrl })
    const served = acquirers.all.map(({ name }) => name)
    const isSimulated = network.environment === 'simulated'
    return { baseUrl, newSandbox, firstAdminUrl, acquirers: served, isSimulated, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Warns of settings that are safe on a laptop, but not with real money or if other machines can reach the service. */
export function warnOfUnsafeSettings({
  config,
  log,
  environment,
}: {
  config: Config
  log: Pick<Logger, 'warn'>
  environment: Environment
}): void {
  if (environment === 'production' && config.databaseUrl === null)
    log.warn(
      'DATABASE_URL is not set: real money is recorded in the embedded PostgreSQL, which only a new version of Guichê updates. Use a PostgreSQL that your distribution updates',
    )
  const addresses = [
    ['DATABASE_URL', config.databaseUrl, 'all'],
    ['DATABASE_READ_URL', config.databaseReadUrl, 'reads'],
  ] as const
  for (const [name, address, use] of addresses)
    if (address !== null && parseServers(address, use).connectionStrings.some(isRemoteInClear))
      log.warn(`${name} connects to another machine without TLS: add ?sslmode=verify-full, or sslmode=require`)
  if (config.baseUrl?.startsWith('https:') && config.trustedProxies.length === 0)
    log.warn(
      'BASE_URL is https but TRUST_PROXY is empty: behind a proxy all callers have its address, so wrong passwords of one person count for everybody. Set TRUST_PROXY to the proxy',
    )
  if (!config.isPublic) return
  if (config.metricsToken === null)
    log.warn('METRICS_TOKEN is not set: /metrics is closed because the service is public')
  if (config.webhookAllowPrivate)
    log.warn('WEBHOOK_ALLOW_PRIVATE is on: API clients can make this service send requests into its own network')
  if (config.authIssuer !== null && config.authAudience === null)
    log.warn('AUTH_AUDIENCE=any: tokens that the provider issued for other services are accepted too')
}

function isRemoteInClear(databaseUrl: string): boolean {
  const { hostname, searchParams } = new URL(databaseUrl)
  const host = searchParams.get('host') ?? hostname
  // A host that is a path is a Unix socket.
  return host !== '' && !host.startsWith('/') && !isLoopback(host) && !usesTls(searchParams)
}

/** As node-postgres reads the address: with every `sslmode` other than `disable`, it connects with TLS or not at all. */
function usesTls(parameters: URLSearchParams): boolean {
  const mode = parameters.get('sslmode')
  if (mode) return mode !== 'disable'
  const hasFile = ['sslcert', 'sslkey', 'sslrootcert'].some((name) => parameters.get(name))
  return (
    hasFile ||
    parameters.get('sslnegotiation') === 'direct' ||
    ['true', '1', 'no-verify'].includes(parameters.get('ssl') ?? '')
  )
}

/** Warns of open records of an acquirer that is no longer configured: otherwise they would wait unnoticed. */
async function warnOfUnconfigured({
  db,
  log,
  acquirers,
}: {
  db: Db
  log: Logger
  acquirers: Acquirers
}): Promise<void> {
  const names = acquirers.all.map(({ name }) => name)
  for (const { name, open } of await listUnconfigured(db, names))
    log.warn(
      { acquirer: name, open },
      'open records belong to an acquirer that is not configured: their outcome stays unknown until it is configured again',
    )
}

/**
 * The OpenTelemetry SDK is an optional peer dependency: installations without tracing do not have to install its 25 MB.
 */
async function loadTracing(options: Parameters<typeof startTracing>[0]): Promise<ReturnType<typeof startTracing>> {
  try {
    return (await import('./tracing.ts')).startTracing(options)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new Error(
      `OTEL_EXPORTER_OTLP_ENDPOINT needs packages that are not installed: npm install ${tracingPackages.join(' ')}`,
    )
  }
}

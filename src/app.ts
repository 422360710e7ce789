import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import type { Acquirers } from './acquirers/registry.ts'
import { createClientDirectory } from './auth/directory.ts'
import { guardRoutes } from './auth/guard.ts'
import { createKeyRing } from './auth/keys.ts'
import { createProvider } from './auth/provider.ts'
import { registerAuthRoutes } from './auth/routes.ts'
import { scopeDescriptions } from './auth/scopes.ts'
import { createTokenVerifier, rememberVerified } from './auth/token.ts'
import { createNoticeWriter, type ReceiveDeps } from './callbacks/receive.ts'
import { registerCallbackRoutes } from './callbacks/routes.ts'
import type { Config } from './config.ts'
import { refuseUnknownFields, registerDashboardRoutes } from './dashboard/routes.ts'
import { registerDashboardPage } from './dashboard/static.ts'
import { checkReady, type Db, type Reads } from './db/sql.ts'
import { registerGuide } from './guide/static.ts'
import { registerFrontPage } from './http/front-page.ts'
import { registerHealthRoutes } from './http/health.ts'
import { createRateLimiter, enforceRateLimit, type RateLimiter } from './http/rate-limit.ts'
import { collectReference, isRead, registerReference } from './http/reference.ts'
import { ProblemView } from './http/schemas.ts'
import { createServer, type Server } from './http/server.ts'
import { shareLimits } from './http/shared-limits.ts'
import { registerLedgerRoutes } from './ledger/routes.ts'
import type { Clock } from './lib/clock.ts'
import { keyedHash, type SecretKey } from './lib/secrets.ts'
import { observeCell } from './operator/cell-metrics.ts'
import { registerLinkPage } from './pay/link-routes.ts'
import { registerPayRoutes } from './pay/routes.ts'
import { paymentToken } from './pay/token.ts'
import { recordApiRequests } from './requests/record.ts'
import { registerSandboxRoutes, type Sandbox } from './sandbox/routes.ts'
import { exampleTransaction } from './transactions/examples.ts'
import { createTransactionReader } from './transactions/fetch.ts'
import { createTransactionWriter } from './transactions/insert.ts'
import { registerTransactionRoutes } from './transactions/routes.ts'
import { TransactionView } from './transactions/schema.ts'
import { createSettlement } from './transactions/settle.ts'
import { transactionStatuses } from './transactions/status.ts'
import { loadTransactionVersions } from './transactions/view.ts'
import { createOidcClient } from './users/oidc.ts'
import { registerUserRoutes } from './users/routes.ts'
import { findSignedIn } from './users/session.ts'
import { checkWebhookUrl } from './webhooks/address.ts'
import { type Described, describeWebhooks } from './webhooks/document.ts'
import { registerEndpointRoutes } from './webhooks/endpoints/routes.ts'
import { createWebhookTests } from './webhooks/endpoints/test-delivery.ts'
import { registerEventRoutes } from './webhooks/event-routes.ts'
import type { ChangeDeliveries } from './webhooks/own-events.ts'
import { registerWebhookRoutes } from './webhooks/routes.ts'
import { exampleWithdrawal } from './withdrawals/examples.ts'
import { registerWithdrawalRoutes } from './withdrawals/routes.ts'
import { WithdrawalView } from './withdrawals/schema.ts'
import { withdrawalStatuses } from './withdrawals/status.ts'
import { loadWithdrawalVersions } from './withdrawals/view.ts'

export type AppDeps = {
  config: Config
  db: Db
  /** What lists, exports and figures are read from: `db`, unless a standby serves them (standby.ts). */
  reads: Reads
  /** The number of this process, which is stored with what it leases. */
  instance: number
  clock: Clock
  key: SecretKey
  log: Logger
  registry: Registry
  acquirers: Acquirers
  baseUrl: string
  version: string
  /** Null if no other process shares its port. */
  shared: Shared | null
  /** Null unless the acquirer is the simulator. */
  sandbox: Sandbox | null
  /** Null where no webhook is sent. */
  deliveries: ChangeDeliveries | null
  /** Called with stored callback notices to process. */
  workOn: ReceiveDeps['workOn']
  /** The names of the jobs whose age the screen of the system shows. */
  timedJobs: () => string[]
}

/**
 * What processes that share a port need so that connections and metrics count for all of them (cluster/worker.ts).
 */
export type Shared = {
  /**
   * Reports to the other processes how many connections this one has. A connection stays with one process for as long
   * as its client keeps it, and many that arrive at the same moment may all go to the same process. The returned
   * function says after each response whether to close its connection, so that the client opens another one, which may
   * go to another process.
   */
  shareConnections(count: () => number): () => boolean
  /** Reads the metrics of all processes. */
  readMetrics(own: Registry): () => Promise<string>
}

/** The HTTP service: the server and the routes of each feature. */
export async function createApp(given: AppDeps): Promise<Server> {
  // Called after a commit that enqueued a webhook.
  const deps = { ...given, wakeDeliveries: () => given.deliveries?.wake() }
  const { config, db, clock, key, log, registry, shared } = deps
  const app = await createServer({
    log,
    registry,
    trustedProxies: config.trustedProxies,
    connectionsPerHostMax: config.connectionsPerAddress,
    // 64 bits are enough to distinguish people, and reveal nothing about them.
    hashPerson: (text) => keyedHash(key, 'person', text).toString('hex').slice(0, 16),
    checkWebhookUrl: (url) => checkWebhookUrl(url, { allowPrivate: config.webhookAllowPrivate }),
    errorPage: `${deps.baseUrl}/guide/errors.html`,
    shareConnections: shared?.shareConnections,
  })
  const described: Described[] = [
    { record: 'transaction', view: TransactionView, statuses: transactionStatuses, example: exampleTransaction },
    { record: 'withdrawal', view: WithdrawalView, statuses: withdrawalStatuses, example: exampleWithdrawal },
  ]
  const reference = collectReference(app, {
    version: deps.version,
    guide: `${deps.baseUrl}/guide/`,
    scopes: scopeDescriptions,
    webhooks: describeWebhooks(described),
  })
  app.addSchema({ $id: 'Problem', ...ProblemView })

  refuseUnknownFields(app)
  const directory = createClientDirectory({ db, clock })
  recordApiRequests(app, {
    ...deps,
    findMerchantId: async (clientId) => (await directory.find(clientId))?.merchant_id ?? null,
  })

  const keys = createKeyRing({ db, clock, key })
  const provider =
    config.authIssuer === null
      ? null
      : createProvider({ issuer: config.authIssuer, audience: config.authAudience, clock })
  const verifyToken = rememberVerified(provider?.verifyToken ?? createTokenVerifier({ keys, clock }))
  const sessionDeps = { ...deps, requireSecondFactor: config.requireSecondFactor }
  guardRoutes(app, {
    clock,
    directory,
    verifyToken,
    findUser: async (request) => await findSignedIn(sessionDeps, request),
    findMerchant: async (clientId) => {
      const client = await directory.find(clientId)
      if (!client) return null
      const { merchant_id: merchantId, name: merchantName, moved_to_address: movedToAddress } = client
      return { merchantId, clientId, merchantName, movedToAddress }
    },
  })

  const limits = shareLimits(deps)
  // The requests that were allowed since the last exchange count after a restart too.
  app.addHook('onClose', async () => await limits.sync().catch(() => {}))
  const limit = (name: string, perSecond: number, burst: number) => {
    return limits.share(createRateLimiter({ name, limit: { perSecond, burst }, clock }))
  }
  limitReads(app, limit('read', config.rateLimitRead.perSecond, config.rateLimitRead.burst))
  const perPerson = limit('recorded', recordedLimits.person.perSecond, recordedLimits.person.burst)
  const perMerchant = limit('recorded-merchant', recordedLimits.merchant.perSecond, recordedLimits.merchant.burst)
  limitRecorded(app, { perPerson, perMerchant })
  const perAddress = config.rateLimitToken
  await registerAuthRoutes(app, {
    ...deps,
    keys,
    provider,
    tokenLifetimeSeconds: config.tokenLifetimeSeconds,
    limits: {
      perAddress: limit('token', perAddress.perSecond, perAddress.burst),
      perClient: limit('token-client', 2 * perAddress.perSecond, 2 * perAddress.burst),
    },
  })
  registerUserRoutes(app, {
    ...sessionDeps,
    oidc: config.oidc && createOidcClient(config.oidc, deps),
    // Some failures at once, then one every few seconds: at most 9,000 guesses a day from one address for one person,
    // of 10^18 possible passwords or more. From a browser or an address where the person signed in before, more than
    // anybody types by hand.
    limits: {
      perAddress: limit('sign-in', 0.2, 20),
      perPerson: limit('sign-in-person', 0.1, 10),
      perDevice: limit('sign-in-device', 1, 60),
      recorded: perPerson,
    },
  })
  observeCell(deps)
  const readTransaction = createTransactionReader(db)
  const settlement = createSettlement(deps)
  const paymentUrlOf = (id: string) => `${deps.baseUrl}/pay/${paymentToken(deps.key, id)}`
  const insertTransaction = createTransactionWriter(db, deps.deliveries)
  registerTransactionRoutes(app, {
    ...deps,
    settlement,
    paymentUrlOf,
    insertTransaction,
    readTransaction,
    createLimit: limit('create', config.rateLimitCreate.perSecond, config.rateLimitCreate.burst),
  })
  const wrongTokenLimit = limit('payment-page', 0.5, 20)
  await registerLinkPage(app, {
    ...deps,
    paymentUrlOf,
    insertTransaction,
    wrongTokenLimit,
    // Several people behind one address can buy at the same moment; a visitor who creates charges and pays none is soon
    // refused. A link in an advertisement can sell five a second.
    linkLimits: { perAddress: limit('link-address', 0.1, 20), perLink: limit('link', 5, 200) },
  })
  await registerPayRoutes(app, {
    ...deps,
    paymentUrlOf,
    readTransaction,
    insertTransaction,
    wrongTokenLimit,
    // Once in two minutes: the page is often reopened, and each check costs a request to the acquirer.
    checkLimit: limit('payment-check', 1 / 120, 1),
    // A person downloads a receipt once or twice; making it costs about 30 ms of CPU.
    receiptLimit: limit('receipt', 0.1, 6),
    // Charges of the sandbox by visitors without an account: as many as a person who tries it makes.
    sampleLimits: { perAddress: limit('sample', 0.1, 20), all: limit('sample-all', 1, 100) },
  })
  const webhookTests = createWebhookTests({ ...deps, limit: limit('webhook-test', 0.5, 10) })
  registerDashboardRoutes(app, {
    ...sessionDeps,
    webhookTests,
    settlement,
    hasProvider: provider !== null,
    attributionApprovalAbove: config.attributionApprovalAbove,
    hasMail: config.alerts.mail !== null,
  })
  registerWithdrawalRoutes(app, deps)
  registerLedgerRoutes(app, deps)
  registerWebhookRoutes(app, deps)
  registerEndpointRoutes(app, { ...deps, tests: webhookTests })
  registerEventRoutes(app, {
    ...deps,
    described,
    loadRecords: {
      transaction: async (versions) => await loadTransactionVersions(deps.reads, versions),
      withdrawal: async (versions) => await loadWithdrawalVersions(deps.reads, versions),
    },
  })
  registerCallbackRoutes(app, { ...deps, keepNotices: createNoticeWriter(deps) })
  if (deps.sandbox) registerSandboxRoutes(app, { ...deps, sandbox: deps.sandbox })
  registerHealthRoutes(app, {
    contentType: registry.contentType,
    readMetrics: shared?.readMetrics(registry) ?? (async () => await registry.metrics()),
    metricsToken: config.metricsToken,
    isPublic: config.isPublic,
    isStopping: app.isStopping,
    checkReady: async () => await checkReady(db),
  })
  registerFrontPage(app, { isSimulated: deps.sandbox !== null })
  // For developers who generate a client from it. Each response is half a megabyte.
  registerReference(app, { reference, documentLimit: limit('document', 5, 100) })
  await registerDashboardPage(app)
  await registerGuide(app)
  return app
}

/**
 * Changes by merchant users go into the audit log, which is kept for ever. The burst is more than anybody does by hand;
 * then one every five seconds. This is at most 17,280 entries a day per person, and 86,400 per merchant, however many
 * users it invites.
 */
const recordedLimits = { person: { perSecond: 0.2, burst: 100 }, merchant: { perSecond: 1, burst: 500 } }

/**
 * Runs after the guard and validation: a request that they refuse is not recorded. Signing out is not recorded either,
 * and is always possible.
 */
function limitRecorded(app: Server, limits: { perPerson: RateLimiter; perMerchant: RateLimiter }): void {
  app.addHook('preHandler', (request, reply, done) => {
    const { user, routeOptions } = request
    if (
      user?.merchant &&
      !isRead({ method: request.method, url: routeOptions.url }) &&
      routeOptions.url !== '/dashboard/api/session'
    ) {
      enforceRateLimit(limits.perPerson, user.email, reply)
      enforceRateLimit(limits.perMerchant, user.merchant.merchantId, reply)
    }
    done()
  })
}

/** Runs after the guard. All tokens of a merchant share one limit; each person has their own. */
function limitReads(app: Server, limiter: RateLimiter): void {
  app.addHook('onRequest', (request, reply, done) => {
    const key = request.user ? `user ${request.user.id}` : request.caller?.merchantId
    if (key !== undefined && isRead({ method: request.method, url: request.routeOptions.url }))
      enforceRateLimit(limiter, key, reply)
    done()
  })
}

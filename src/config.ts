import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { Ajv } from 'ajv'
import { type Static, Type } from 'typebox'
import { isHost, isNetwork } from './lib/addresses.ts'
import { type AlertSettings, languages, readAlertChannels } from './lib/alert-settings.ts'
import { type Cell, type CellAddress, isCellName, parseCells } from './lib/cell.ts'
import { countCores, processesFor, processesMax } from './lib/cores.ts'
import { parseServers } from './lib/database-url.ts'
import { type EventSinkSettings, readEventSink } from './lib/event-sink-settings.ts'
import { type OidcSettings, readOidcSettings, roleNames } from './lib/oidc-settings.ts'
import { parseSecretKey, type SecretKey } from './lib/secrets.ts'

const defaultHost = '127.0.0.1'
/** The value of AUTH_AUDIENCE that accepts tokens for any audience. */
const anyAudience = 'any'

const optionalText = Type.Optional(Type.String({ minLength: 1 }))

/** The service's variables, explained in `.env.example`. An acquirers file may name others. */
const Environment = Type.Object({
  HOST: Type.String({ minLength: 1, default: defaultHost }),
  PORT: Type.Integer({ minimum: 0, maximum: 65535, default: 3000 }),
  BASE_URL: optionalText,
  CELL: optionalText,
  CELLS: optionalText,
  DATA_DIR: Type.String({ minLength: 1, default: './data' }),
  DATABASE_URL: optionalText,
  DATABASE_URL_FILE: optionalText,
  DATABASE_READ_URL: optionalText,
  DATABASE_READ_URL_FILE: optionalText,
  DATABASE_CONNECTIONS_MAX: Type.Optional(Type.Integer({ minimum: 4, maximum: 200 })),
  DATABASE_WAIT_SECONDS: Type.Integer({ minimum: 1, maximum: 60, default: 3 }),
  PROCESSES: Type.Optional(Type.Integer({ minimum: 1, maximum: processesMax })),
  SECRET_KEY: optionalText,
  SECRET_KEY_FILE: optionalText,
  SECRET_KEY_PREVIOUS: optionalText,
  SECRET_KEY_PREVIOUS_FILE: optionalText,
  AUTH_ISSUER: optionalText,
  AUTH_AUDIENCE: optionalText,
  OIDC_ISSUER: optionalText,
  OIDC_CLIENT_ID: optionalText,
  OIDC_CLIENT_SECRET: optionalText,
  OIDC_CLIENT_SECRET_FILE: optionalText,
  OIDC_SCOPES: Type.String({ minLength: 1, default: 'openid email profile' }),
  OIDC_ROLES_CLAIM: optionalText,
  OIDC_ROLES: optionalText,
  OIDC_NAME: Type.Optional(Type.String({ minLength: 1, maxLength: 40 })),
  OIDC_ONLY: Type.Boolean({ default: false }),
  OIDC_SECOND_FACTOR: Type.Enum(['claims', 'trusted'], { default: 'claims' }),
  OIDC_ACR_VALUES: optionalText,
  TOKEN_LIFETIME_SECONDS: Type.Integer({ minimum: 60, maximum: 86_400, default: 900 }),
  RATE_LIMIT_CREATE: Type.Number({ minimum: 0, maximum: 1_000_000, default: 100 }),
  RATE_LIMIT_CREATE_BURST: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000_000 })),
  RATE_LIMIT_TOKEN: Type.Number({ minimum: 0, maximum: 1_000_000, default: 20 }),
  RATE_LIMIT_READ: Type.Number({ minimum: 0, maximum: 1_000_000, default: 100 }),
  CONNECTIONS_PER_ADDRESS: Type.Integer({ minimum: 0, maximum: 10_000, default: 256 }),
  ACQUIRERS_FILE: optionalText,
  SIMULATOR_URL: optionalText,
  ATTRIBUTION_APPROVAL_ABOVE: Type.Integer({ minimum: 0, maximum: 1_000_000_000_000, default: 50_000 }),
  ATTRIBUTION_THRESHOLD: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })),
  WEBHOOK_ALLOW_PRIVATE: Type.Optional(Type.Boolean()),
  RETENTION_ATTEMPTS_DAYS: Type.Integer({ minimum: 7, maximum: 3650, default: 30 }),
  RETENTION_CALLBACKS_DAYS: Type.Integer({ minimum: 8, maximum: 3650, default: 30 }),
  RETENTION_PERSONAL_DATA_DAYS: Type.Optional(Type.Integer({ minimum: 180, maximum: 36_500 })),
  RETENTION_EXCHANGES_DAYS: Type.Integer({ minimum: 1, maximum: 3650, default: 30 }),
  TRUST_PROXY: optionalText,
  REQUIRE_SECOND_FACTOR: optionalText,
  METRICS_TOKEN: Type.Optional(Type.String({ minLength: 8 })),
  METRICS_TOKEN_FILE: optionalText,
  ...{ SMTP_URL: optionalText, SMTP_URL_FILE: optionalText },
  ...{ ALERT_EMAIL_TO: optionalText, ALERT_EMAIL_FROM: optionalText },
  ...{ ALERT_SLACK_URL: optionalText, ALERT_SLACK_URL_FILE: optionalText },
  ...{ EVENT_SINK: optionalText, EVENT_SINK_FILE: optionalText },
  ...{ ALERT_TELEGRAM_TOKEN: optionalText, ALERT_TELEGRAM_TOKEN_FILE: optionalText },
  ...{ ALERT_TELEGRAM_CHAT: optionalText, ALERT_TELEGRAM_URL: optionalText },
  ALERT_WEBHOOK_URL: optionalText,
  ...{ ALERT_WEBHOOK_SECRET: optionalText, ALERT_WEBHOOK_SECRET_FILE: optionalText },
  ALERT_LANGUAGE: Type.Enum([...languages], { default: 'en' }),
  STOP_DELAY_SECONDS: Type.Optional(Type.Integer({ minimum: 0, maximum: 300 })),
  OTEL_EXPORTER_OTLP_ENDPOINT: optionalText,
  OTEL_SERVICE_NAME: Type.String({ minLength: 1, default: 'guiche' }),
  LOG_LEVEL: Type.Enum(['debug', 'info', 'warn', 'error', 'silent'], { default: 'info' }),
  LOG_FORMAT: Type.Enum(['auto', 'json', 'pretty'], { default: 'auto' }),
})

export type Config = Readonly<{
  host: string
  /** 0 lets the operating system choose. */
  port: number
  /** Without a trailing slash. Null: derived from host and port once the port is known. */
  baseUrl: string | null
  /** Null: this installation is no cell. */
  cell: Cell | null
  /** All cells and their addresses, for the operator's page. */
  cells: readonly CellAddress[]
  dataDir: string
  databaseUrl: string | null
  /** The address of a standby that serves lists, exports and figures. */
  databaseReadUrl: string | null
  /** The number of processes that serve. */
  processes: number
  /** Per process. */
  databaseConnectionsMax: number
  /** How long a request waits for a connection to the database. A server that is silent for a second longer is away. */
  databaseWaitMs: number
  secretKey: SecretKey | null
  /** The former key, which `secretKey` replaces. */
  secretKeyPrevious: SecretKey | null
  authIssuer: string | null
  /** The audience that tokens of an external provider must have. Null: no provider, or waived with `any`. */
  authAudience: string | null
  /** Where people sign in to the dashboard. Null: with passwords only. */
  oidc: OidcSettings | null
  tokenLifetimeSeconds: number
  /** Per client and second; 0 disables the limit. */
  rateLimitCreate: { perSecond: number; burst: number }
  /** Requests for tokens: per address, and twice that per client. */
  rateLimitToken: { perSecond: number; burst: number }
  /** Per client or dashboard user, and second. */
  rateLimitRead: { perSecond: number; burst: number }
  /** Per host; 0 disables the limit. */
  connectionsPerAddress: number
  /** The absolute path of the file with the accounts at PSPs (acquirers/settings.ts). Null: the simulated network. */
  acquirersFile: string | null
  /** Reads a variable that the acquirers file refers to. */
  variable: (name: string) => string | undefined
  simulatorUrl: string | null
  /** The score from which a payment without a txid is attributed automatically; null: never. */
  attributionThreshold: number | null
  /** The amount in cents above which attributing a payment in suspense needs two persons. */
  attributionApprovalAbove: number
  webhookAllowPrivate: boolean
  /** For how many days data is kept. */
  retention: {
    attemptsDays: number
    callbacksDays: number
    exchangesDays: number
    /** Null: personal data is kept until it is erased by hand. */
    personalDataDays: number | null
  }
  /** The proxies (addresses and networks) whose X-Forwarded-For is trusted; empty: none. */
  trustedProxies: string[]
  /** Whether other machines may reach the service, directly or through a proxy. */
  isPublic: boolean
  /** Roles whose users must have a second factor before they can do anything. */
  requireSecondFactor: readonly string[]
  /** Null: /metrics is open on this machine, and closed if the service is public. */
  metricsToken: string | null
  alerts: AlertSettings
  eventSink: EventSinkSettings | null
  /** How long a stopping service still serves, so that load balancers can notice. */
  stopDelaySeconds: number
  /** Where traces are sent (OTLP over HTTP). Null: they are off. */
  tracing: { url: string; serviceName: string } | null
  logLevel: string
  logFormat: 'json' | 'pretty'
}>

export class ConfigError extends Error {
  constructor(errors: string[]) {
    super(`The configuration is not valid:\n${errors.map((error) => `  - ${error}`).join('\n')}`)
    this.name = 'ConfigError'
  }
}

/** PostgreSQL allows 100 by default: the rest is for tools. */
const connectionsInAll = 80

/** A BR Code has 77 characters for a URL, and the path takes 29 of them (simulator/location.ts). */
const baseUrlLengthMax = 48

const ajv = new Ajv({ coerceTypes: true, useDefaults: true, allErrors: true, meta: false, validateSchema: false })
const validate = ajv.compile<Static<typeof Environment>>(Environment)

type Name = keyof typeof Environment.properties
const names = Object.keys(Environment.properties) as Name[]
/** A variable with this suffix has the path of the file that contains the secret: containers pass secrets as files. */
const fileSuffix = '_FILE'

/**
 * Reads the environment into a frozen object.
 * @throws {ConfigError} with every error, not only the first
 */
export function readConfig(environment: Record<string, string | undefined>): Config {
  const errors: string[] = []
  const secrets = readSecretFiles(environment, errors)
  // An empty value counts as unset: `BASE_URL=` in a file means "the default".
  const text = (name: Name) => secrets.get(name)?.content ?? (environment[name]?.trim() || undefined)
  const settings: unknown = Object.fromEntries(names.flatMap((name) => (text(name) ? [[name, text(name)]] : [])))
  const isValid = validate(settings)
  errors.push(...(validate.errors ?? []).map((error) => `${error.instancePath.slice(1)} ${describe(error)}`))
  const secretKey = readSecretKey('SECRET_KEY', text('SECRET_KEY'), errors)
  const secretKeyPrevious = readSecretKey('SECRET_KEY_PREVIOUS', text('SECRET_KEY_PREVIOUS'), errors)
  if (text('SECRET_KEY_PREVIOUS') !== undefined && text('SECRET_KEY') === undefined)
    errors.push('SECRET_KEY must be set together with SECRET_KEY_PREVIOUS: it is the key that replaces it')
  const baseUrl = readBase('BASE_URL', text('BASE_URL'), errors)
  const authIssuer = readBase('AUTH_ISSUER', text('AUTH_ISSUER'), errors)
  const oidcIssuer = readBase('OIDC_ISSUER', text('OIDC_ISSUER'), errors)
  if (oidcIssuer?.startsWith('http:') && !isLoopback(new URL(oidcIssuer).hostname))
    errors.push('OIDC_ISSUER must begin with https://: its answers decide who signs in')
  const oidc = readOidcSettings(oidcIssuer, text, errors)
  const collector = readBase('OTEL_EXPORTER_OTLP_ENDPOINT', text('OTEL_EXPORTER_OTLP_ENDPOINT'), errors)
  const simulatorUrl = readBase('SIMULATOR_URL', text('SIMULATOR_URL'), errors)
  const databaseUrl = readDatabaseUrl('DATABASE_URL', text('DATABASE_URL'), errors)
  const databaseReadUrl = readDatabaseUrl('DATABASE_READ_URL', text('DATABASE_READ_URL'), errors)
  if (text('DATABASE_READ_URL') !== undefined && text('DATABASE_URL') === undefined)
    errors.push('DATABASE_READ_URL needs DATABASE_URL: the embedded PostgreSQL has no standby')
  if (text('HOST') && !isHost(text('HOST') ?? '')) errors.push('HOST must be an IP address or a host name')
  if (text('CELL') !== undefined && !isCellName(text('CELL') ?? ''))
    errors.push('CELL must be 1 to 4 lowercase letters and digits')
  const cells = parseCells(text('CELLS') ?? '')
  if (cells === null)
    errors.push('CELLS must be the cells and their addresses, such as a=https://a.example.com,b=https://b.example.com')
  const acquirersFile = text('ACQUIRERS_FILE')
  if (acquirersFile !== undefined && simulatorUrl !== null)
    errors.push(
      'SIMULATOR_URL cannot be combined with ACQUIRERS_FILE: a simulator can be an acquirer of dialect generic in that file',
    )
  const usesOwnSimulator = simulatorUrl === null && acquirersFile === undefined
  if (baseUrl !== null && usesOwnSimulator && baseUrl.replace(/^https?:\/\//, '').length > baseUrlLengthMax)
    errors.push(
      `BASE_URL must have at most ${baseUrlLengthMax} characters after the scheme: it is part of every QR code`,
    )
  const roles = readRoles('REQUIRE_SECOND_FACTOR', text('REQUIRE_SECOND_FACTOR'), errors)
  const trustedProxies = readNetworks('TRUST_PROXY', text('TRUST_PROXY'), errors)
  const [alerts, eventSink] = [readAlertChannels(text, errors), readEventSink(text('EVENT_SINK'), errors)]
  if (authIssuer !== null && text('AUTH_AUDIENCE') === undefined)
    errors.push(
      `AUTH_AUDIENCE must be set together with AUTH_ISSUER: the audience ("aud") of tokens for this gateway. AUTH_AUDIENCE=${anyAudience} accepts tokens that were issued for any service`,
    )
  // Whether others can reach the service: behind a proxy on this machine, HOST is a loopback address as well.
  const isPublic =
    !isLoopback(text('HOST') ?? defaultHost) ||
    (baseUrl !== null && !isLoopback(new URL(baseUrl).hostname)) ||
    trustedProxies.length > 0
  if (!isValid || errors.length > 0) {
    const withFile = (name: string) => (secrets.has(name) ? `${name} (in ${secrets.get(name)?.path})` : name)
    throw new ConfigError(errors.map((error) => error.replace(/^\w+/, withFile)))
  }

  const processes = settings.PROCESSES ?? (acquirersFile === undefined ? 1 : processesFor(countCores()))
  return Object.freeze({
    host: settings.HOST,
    port: settings.PORT,
    baseUrl,
    cell: settings.CELL ?? null,
    cells: cells ?? [],
    dataDir: resolve(settings.DATA_DIR),
    databaseUrl: databaseUrl && (settings.DATABASE_URL ?? null),
    databaseReadUrl,
    processes,
    databaseWaitMs: settings.DATABASE_WAIT_SECONDS * 1000,
    databaseConnectionsMax: settings.DATABASE_CONNECTIONS_MAX ?? Math.min(20, Math.floor(connectionsInAll / processes)),
    secretKey,
    secretKeyPrevious,
    authIssuer: authIssuer && (settings.AUTH_ISSUER ?? null),
    authAudience: settings.AUTH_AUDIENCE === anyAudience ? null : (settings.AUTH_AUDIENCE ?? null),
    oidc,
    tokenLifetimeSeconds: settings.TOKEN_LIFETIME_SECONDS,
    rateLimitCreate: {
      perSecond: settings.RATE_LIMIT_CREATE,
      burst: settings.RATE_LIMIT_CREATE_BURST ?? Math.max(1, Math.ceil(settings.RATE_LIMIT_CREATE * 2)),
    },
    rateLimitToken: {
      perSecond: settings.RATE_LIMIT_TOKEN,
      burst: Math.max(1, Math.ceil(settings.RATE_LIMIT_TOKEN * 5)),
    },
    rateLimitRead: { perSecond: settings.RATE_LIMIT_READ, burst: Math.max(1, Math.ceil(settings.RATE_LIMIT_READ * 2)) },
    connectionsPerAddress: settings.CONNECTIONS_PER_ADDRESS,
    acquirersFile: acquirersFile === undefined ? null : resolve(acquirersFile),
    variable: (name) => environment[name],
    simulatorUrl,
    attributionThreshold: settings.ATTRIBUTION_THRESHOLD ?? null,
    attributionApprovalAbove: settings.ATTRIBUTION_APPROVAL_ABOVE,
    webhookAllowPrivate: settings.WEBHOOK_ALLOW_PRIVATE ?? (acquirersFile === undefined && !isPublic),
    retention: {
      attemptsDays: settings.RETENTION_ATTEMPTS_DAYS,
      callbacksDays: settings.RETENTION_CALLBACKS_DAYS,
      exchangesDays: settings.RETENTION_EXCHANGES_DAYS,
      personalDataDays: settings.RETENTION_PERSONAL_DATA_DAYS ?? null,
    },
    trustedProxies,
    isPublic,
    requireSecondFactor: roles,
    metricsToken: settings.METRICS_TOKEN ?? null,
    alerts: { ...alerts, language: settings.ALERT_LANGUAGE },
    eventSink,
    // Without a load balancer nobody would notice, and Ctrl-C on a laptop is quick.
    stopDelaySeconds: settings.STOP_DELAY_SECONDS ?? (isPublic ? 5 : 0),
    tracing: collector === null ? null : { url: `${collector}/v1/traces`, serviceName: settings.OTEL_SERVICE_NAME },
    logLevel: settings.LOG_LEVEL,
    logFormat:
      settings.LOG_FORMAT === 'pretty' || (settings.LOG_FORMAT === 'auto' && process.stdout.isTTY) ? 'pretty' : 'json',
  })
}

function readSecretFiles(environment: Record<string, string | undefined>, errors: string[]) {
  const read = new Map<string, { path: string; content: string }>()
  for (const name of names) {
    const variable = `${name}${fileSuffix}`
    const path = names.some((known) => known === variable) && environment[variable]?.trim()
    if (!path) continue
    try {
      if (environment[name]?.trim()) throw new Error(`cannot be combined with ${name}: set one of them`)
      read.set(name, { path, content: readSecretFile(path) })
    } catch (error) {
      errors.push(`${variable} ${(error as Error).message}`)
    }
  }
  return read
}

/** @throws {Error} whose message goes on after the name of the setting that contains the path */
export function readSecretFile(path: string): string {
  let content: string
  try {
    content = readFileSync(path, 'utf8').trim()
  } catch {
    throw new Error(`names the file ${path}, which does not exist or may not be read`)
  }
  if (content === '') throw new Error(`names the file ${path}, which is empty`)
  return content
}

function describe({ message, params }: { message?: string; params: Record<string, unknown> }): string {
  if (Array.isArray(params.allowedValues)) return `must be one of ${params.allowedValues.join(', ')}`
  if (params.type === 'boolean') return 'must be true or false'
  if (params.type === 'integer') return 'must be a whole number'
  if (params.type === 'number') return 'must be a number'
  return (
    message?.replace('NOT have fewer than', 'have at least').replace('>=', 'at least').replace('<=', 'at most') ??
    'is not valid'
  )
}

function readSecretKey(name: string, text: string | undefined, errors: string[]): SecretKey | null {
  const key = parseSecretKey(text ?? '')
  if (text !== undefined && !key)
    errors.push(`${name} must be 32 bytes in base64url (\`npx guiche secret-key\` makes one)`)
  return key
}

/** An address to which paths are appended. */
function readBase(name: string, text: string | undefined, errors: string[]): string | null {
  if (text === undefined) return null
  if (!/^https?:$/.test(URL.canParse(text) ? new URL(text).protocol : '')) {
    errors.push(`${name} must be a URL that begins with http:// or https://`)
    return null
  }
  if (/[?#]/.test(text)) errors.push(`${name} must be a URL without a query and a fragment`)
  return text.replace(/\/+$/, '')
}

function readDatabaseUrl(
  name: 'DATABASE_URL' | 'DATABASE_READ_URL',
  text: string | undefined,
  errors: string[],
): string | null {
  try {
    if (text !== undefined) parseServers(text, name === 'DATABASE_URL' ? 'all' : 'reads')
    return text ?? null
  } catch (error) {
    errors.push(`${name} ${(error as Error).message}`)
    return null
  }
}

function readRoles(name: string, text: string | undefined, errors: string[]): string[] {
  const roles = (text ?? '').split(',').flatMap((part) => part.trim() || [])
  if ((roles.length > 0 || text === undefined) && roles.every((role) => roleNames.includes(role))) return roles
  errors.push(`${name} must be roles, separated by commas: ${roleNames.join(', ')}`)
  return []
}

/** Addresses and networks (CIDR), separated by commas. Commas alone are none: the setting would do nothing. */
function readNetworks(name: string, text: string | undefined, errors: string[]): string[] {
  const networks = (text ?? '').split(',').flatMap((part) => part.trim() || [])
  if ((networks.length > 0 || text === undefined) && networks.every(isNetwork)) return networks
  errors.push(`${name} must be addresses or networks of proxies, separated by commas, such as 127.0.0.1,10.0.0.0/8`)
  return []
}

/** True for addresses that only this machine can reach. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host)
}

/** The database setting with the address where the service last ran: tools build links with it. */
export const baseUrlSetting = 'base_url'

/** The service's address: BASE_URL, or the address that it listens on. */
export function toBaseUrl({ baseUrl, host, port }: Pick<Config, 'baseUrl' | 'host' | 'port'>): string {
  return baseUrl ?? `http://${toUrlHost(host)}:${port}`
}

function toUrlHost(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1'
  return host.includes(':') ? `[${host}]` : host
}

import { readFileSync } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import { ConfigError, readSecretFile } from '../config.ts'
import type { Clock } from '../lib/clock.ts'
import { parseDocument } from '../lib/document.ts'
import { cents } from '../lib/money.ts'
import type { AccountHolder } from '../pix/holder.ts'
import { detectPixKey, normalizePixKey } from '../pix/key.ts'
import type { Acquirer, FeeAgreed } from './acquirer.ts'
import { readTlsMaterial, TlsFileError, type TlsFiles } from './bacen/certificate.ts'
import { fillPlaceholders, type ProtocolProfile, withOverrides } from './bacen/profile.ts'
import type { Credentials } from './bacen/token.ts'
import type { CallbackSettings } from './callbacks.ts'
import type { Dialect, Hosts } from './dialects/dialect.ts'
import { type DialectName, dialects } from './dialects.ts'
import type { RouteSettings } from './routes.ts'
import { type AcquirerEntry, findErrors, isSettingsFile, type RouteEntry, type Secret } from './settings-schema.ts'

/** One account at one PSP: the settings of the file, of its dialect and of the environment together. */
export type AcquirerSettings = Readonly<{
  name: string
  dialect: DialectName
  environment: 'production' | 'sandbox'
  hosts: Hosts
  credentials: Credentials
  chave: string
  receiver: AccountHolder
  tls: TlsFiles | null
  timeoutMs: number
  callbacks: CallbackSettings
  fees: Acquirer['fees']
  profile: ProtocolProfile
}>

export type AcquirersSettings = Readonly<{ acquirers: readonly AcquirerSettings[]; routes: readonly RouteSettings[] }>

type Source = {
  path: string
  /** Reads a variable of the environment. */
  variable: (name: string) => string | undefined
  clock: Clock
}

const timeoutMsDefault = 10_000

/**
 * Reads ACQUIRERS_FILE, its secrets and its certificates.
 *
 * @throws {ConfigError} naming every error with its path in the file, not only the first.
 */
export function readAcquirersFile(source: Source): AcquirersSettings {
  const value = parse(source.path)
  const errors = collectErrors(source.path, value)
  const entries = entriesOf(value)
  const acquirers = entries.map((entry, index) => readAcquirer(source, errors, entry, `acquirers[${index}]`))
  checkNames(errors, entries)
  const routes = checkRoutes(errors, value, entries)
  errors.throwIfAny()
  return deepFreeze({ acquirers: acquirers.filter((one) => one !== null), routes })
}

function parse(path: string): unknown {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch {
    throw new ConfigError([`ACQUIRERS_FILE names ${path}, which does not exist or may not be read`])
  }
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new ConfigError([`${path} is not JSON: ${error instanceof Error ? error.message : ''}`])
  }
}

type Errors = {
  add(path: string, reason: string): void
  /** True when there is no error at this path nor under it. */
  isValid(path: string): boolean
  throwIfAny(): void
}

function collectErrors(file: string, value: unknown): Errors {
  const all = findErrors(value)
  return {
    add: (path, reason) => all.push({ path, reason }),
    isValid: (path) =>
      !all.some((one) => one.path === path || ['.', '['].some((next) => one.path.startsWith(path + next))),
    throwIfAny() {
      if (all.length === 0 && isSettingsFile(value)) return
      const sorted = all.toSorted((one, other) => one.path.localeCompare(other.path, 'en', { numeric: true }))
      throw new ConfigError(sorted.map(({ path, reason }) => toLine(file, path || 'the file', reason)))
    },
  }
}

function toLine(file: string, path: string, reason: string): string {
  return `${basename(file)}: ${path}${reason.startsWith(':') ? '' : ' '}${reason}`
}

/** The entries as objects, valid or not: the schema has already reported what is wrong in them. */
function entriesOf(value: unknown): AcquirerEntry[] {
  const { acquirers } = Object(value)
  return Array.isArray(acquirers) ? acquirers.map((entry) => Object(entry)) : []
}

/** Null when the entry has an error, which is then in `errors`. */
function readAcquirer(source: Source, errors: Errors, entry: AcquirerEntry, at: string): AcquirerSettings | null {
  const dialect = errors.isValid(`${at}.dialect`) ? dialects[entry.dialect] : null
  const secretAt = (path: string, secret: Secret | undefined) =>
    secret !== undefined && errors.isValid(path) ? readSecret(source, errors, path, secret) : null
  const clientId = secretAt(`${at}.clientId`, entry.clientId)
  const clientSecret = secretAt(`${at}.clientSecret`, entry.clientSecret)
  if (dialect?.needsSecret && entry.clientSecret === undefined) errors.add(`${at}.clientSecret`, 'is not set')
  const hosts = dialect && readHosts(errors, entry, dialect, at)
  const tls = readTls(source, errors, entry, at)
  if (hosts && dialect?.needsCertificate && entry.baseUrl === undefined && !tls && errors.isValid(`${at}.tls`))
    errors.add(`${at}.tls`, `is not set: ${dialect.title} requires a client certificate`)
  const profile = dialect && readProfile(source, errors, entry, { dialect, clientId, at })
  const receiver = readReceiver(errors, entry, at)
  if (!errors.isValid(at) || clientId === null || !hosts || !profile || !receiver) return null
  return {
    name: entry.name,
    dialect: entry.dialect,
    environment: entry.environment ?? 'production',
    hosts,
    credentials: { clientId, clientSecret },
    chave: detectPixKey(entry.chave)?.key ?? entry.chave,
    receiver,
    tls,
    timeoutMs: entry.timeoutMs ?? timeoutMsDefault,
    callbacks: entry.callbacks ?? {},
    fees: { payment: toFee(entry.fees?.payment), payout: toFee(entry.fees?.payout) },
    profile,
  }
}

function readHosts(errors: Errors, entry: AcquirerEntry, dialect: Dialect, at: string): Hosts | null {
  if (!errors.isValid(`${at}.baseUrl`) || !errors.isValid(`${at}.tokenUrl`)) return null
  const environment = entry.environment ?? 'production'
  const known = environment === 'production' || environment === 'sandbox' ? dialect.hosts[environment] : null
  const baseUrl = entry.baseUrl ?? known?.baseUrl
  if (baseUrl === undefined) {
    errors.add(`${at}.baseUrl`, `is not set, and ${dialect.title} has no known address for ${environment}`)
    return null
  }
  // With another host than the known one, the token is requested there too, unless tokenUrl is set.
  const tokenUrl = entry.tokenUrl ?? (entry.baseUrl === undefined ? known?.tokenUrl : undefined)
  for (const [name, address] of [
    ['baseUrl', baseUrl],
    ['tokenUrl', tokenUrl],
  ] as const) {
    if (environment === 'production' && address?.startsWith('http://'))
      errors.add(`${at}.${name}`, 'must begin with https:// in production: the secret would be sent in clear text')
  }
  return { baseUrl, ...(tokenUrl !== undefined && { tokenUrl }) }
}

function readTls(source: Source, errors: Errors, entry: AcquirerEntry, at: string): TlsFiles | null {
  const { tls } = entry
  if (tls === undefined || !errors.isValid(`${at}.tls`)) return null
  if (tls.pfxFile !== undefined && (tls.certFile !== undefined || tls.keyFile !== undefined)) {
    errors.add(`${at}.tls`, 'has both a PFX and a PEM certificate: keep one of them')
    return null
  }
  if (errors.isValid(`${at}.baseUrl`) && entry.baseUrl?.startsWith('http://')) {
    errors.add(`${at}.tls`, 'has no effect while baseUrl begins with http://')
    return null
  }
  const { passphrase, ...paths } = tls
  const absolute = Object.entries(paths).map(([name, path]) => [name, fromFile(source, path)])
  const files: TlsFiles = {
    ...Object.fromEntries(absolute),
    ...(passphrase !== undefined && { passphrase: () => resolveSecret(source, passphrase) }),
  }
  try {
    readTlsMaterial(files, source.clock)
    return files
  } catch (error) {
    if (!(error instanceof TlsFileError)) throw error
    errors.add(`${at}.tls.${error.setting}`, error.message.startsWith('is ') ? error.message : `: ${error.message}`)
    return null
  }
}

function readProfile(
  source: Source,
  errors: Errors,
  { settings = {}, overrides = {} }: AcquirerEntry,
  { dialect, clientId, at }: { dialect: Dialect; clientId: string | null; at: string },
): ProtocolProfile | null {
  if (!errors.isValid(`${at}.settings`) || !errors.isValid(`${at}.overrides`)) return null
  const profile = withOverrides(dialect.profile, overrides)
  for (const [name, { isRequired, what }] of Object.entries(dialect.settings)) {
    if (isRequired && settings[name] === undefined) errors.add(`${at}.settings.${name}`, `is not set: ${what}`)
  }
  const texts = JSON.stringify([profile.token.query, profile.headers, profile.query, profile.registrationHeaders])
  const values: Record<string, string> = clientId === null ? {} : { clientId }
  for (const [name, secret] of Object.entries(settings)) {
    const value = readSecret(source, errors, `${at}.settings.${name}`, secret)
    if (value !== null) values[name] = value
    if (!texts.includes(`{${name}}`))
      errors.add(`${at}.settings.${name}`, `is not known: ${toKnownSettings(dialect, name)}`)
  }
  return fillPlaceholders(profile, values)
}

function toKnownSettings({ title, settings }: Dialect, unknown: string): string {
  const names = Object.keys(settings)
  return names.length > 0
    ? `${title} has ${names.join(', ')}`
    : `${title} has no settings, and no header or query parameter in overrides contains {${unknown}}`
}

function readReceiver(errors: Errors, { receiver, chave }: AcquirerEntry, at: string): AccountHolder | null {
  if (!errors.isValid(`${at}.receiver`) || !errors.isValid(`${at}.chave`)) return null
  const document = parseDocument(receiver.document)
  const type = document?.type === 'CPF' ? 'PF' : 'PJ'
  if (receiver.type !== type) errors.add(`${at}.receiver.type`, `must be ${type}: the document is a ${document?.type}`)
  const pix = receiver.pix ? normalizePixKey(receiver.pix) : detectPixKey(chave)
  if (!pix) errors.add(`${at}.receiver.pix.key`, `is not a Pix key of type ${receiver.pix?.type}`)
  return document && pix && { ...receiver, document: document.value, pix }
}

function toFee(fee: NonNullable<AcquirerEntry['fees']>['payment']): FeeAgreed | null {
  if (!fee) return null
  const { fixed = 0, basisPoints = 0, minimum = 0, maximum = null } = fee
  return {
    fixed: cents(fixed),
    basisPoints,
    minimum: cents(minimum),
    maximum: maximum === null ? null : cents(maximum),
  }
}

function checkNames(errors: Errors, entries: AcquirerEntry[]): void {
  entries.forEach(({ name }, index) => {
    const first = entries.findIndex((entry) => entry.name === name)
    if (name !== undefined && first !== index)
      errors.add(`acquirers[${index}].name`, `is also the name of acquirers[${first}]: each needs its own`)
  })
}

function checkRoutes(errors: Errors, value: unknown, entries: AcquirerEntry[]): RouteSettings[] {
  const { routes } = Object(value)
  const all: RouteEntry[] = Array.isArray(routes) ? routes.map((route) => Object(route)) : []
  const names = entries.map(({ name }) => name)
  return all.flatMap((route, index) => {
    const at = `routes[${index}]`
    if (errors.isValid(`${at}.acquirers`)) checkRouteAcquirers(errors, route, names, at)
    if (errors.isValid(`${at}.maxAmount`) && route.minAmount !== undefined && route.maxAmount !== undefined) {
      if (route.minAmount > route.maxAmount) errors.add(`${at}.maxAmount`, 'is below minAmount: no amount fits')
    }
    if (!errors.isValid(at)) return []
    return [{ ...route, acquirers: route.acquirers.map(({ name, weight = 1 }) => ({ name, weight })) }]
  })
}

function checkRouteAcquirers(errors: Errors, { acquirers }: RouteEntry, names: string[], at: string): void {
  acquirers.forEach(({ name }, position) => {
    if (!names.includes(name))
      errors.add(`${at}.acquirers[${position}].name`, `is not one of the acquirers: ${names.join(', ')}`)
    if (acquirers.findIndex((other) => other.name === name) !== position)
      errors.add(`${at}.acquirers[${position}].name`, 'appears twice in this route')
  })
}

function readSecret(source: Source, errors: Errors, path: string, secret: Secret): string | null {
  try {
    return resolveSecret(source, secret)
  } catch (error) {
    errors.add(path, error instanceof Error ? error.message : String(error))
    return null
  }
}

/** Throws an error whose message continues the setting's name, such as `names the variable X, which is not set`. */
function resolveSecret(source: Source, secret: Secret): string {
  if (typeof secret === 'string') return secret
  if ('env' in secret) {
    const value = source.variable(secret.env)
    if (!value) throw new Error(`names the variable ${secret.env}, which is not set`)
    return value
  }
  return readSecretFile(fromFile(source, secret.file))
}

/** Relative to the settings file, wherever the service was started. */
function fromFile({ path }: Source, relative: string): string {
  return resolve(dirname(path), relative)
}

function deepFreeze<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  Object.freeze(value)
  Object.values(value).forEach(deepFreeze)
  return value
}

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { type Config, ConfigError, readConfig } from './config.ts'
import { newSecretKey } from './lib/secrets.ts'

/** The errors that an environment is rejected with, one line each. */
function errorsOf(environment: Record<string, string>): string[] {
  try {
    readConfig(environment)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const [first, ...errors] = error.message.split('\n')
    expect(first).toBe('The configuration is not valid:')
    return errors.map((line) => line.replace(/^ {2}- /, ''))
  }
  return []
}

const noAlerts = { language: 'en', email: null, mail: null, slack: null, telegram: null, webhook: null } as const

describe('an empty environment', () => {
  const defaults = {
    host: '127.0.0.1',
    port: 3000,
    baseUrl: null,
    dataDir: resolve('./data'),
    databaseUrl: null,
    databaseReadUrl: null,
    processes: 1,
    databaseConnectionsMax: 20,
    databaseWaitMs: 3_000,
    secretKey: null,
    secretKeyPrevious: null,
    authIssuer: null,
    authAudience: null,
    oidc: null,
    tracing: null,
    tokenLifetimeSeconds: 900,
    rateLimitCreate: { perSecond: 100, burst: 200 },
    rateLimitToken: { perSecond: 20, burst: 100 },
    rateLimitRead: { perSecond: 100, burst: 200 },
    connectionsPerAddress: 256,
    cell: null,
    cells: [],
    acquirersFile: null,
    variable: expect.any(Function),
    simulatorUrl: null,
    attributionApprovalAbove: 50_000,
    attributionThreshold: null,
    webhookAllowPrivate: true,
    retention: { attemptsDays: 30, callbacksDays: 30, exchangesDays: 30, personalDataDays: null },
    trustedProxies: [],
    isPublic: false,
    requireSecondFactor: [],
    metricsToken: null,
    alerts: noAlerts,
    eventSink: null,
    logLevel: 'info',
    stopDelaySeconds: 0,
    logFormat: process.stdout.isTTY ? 'pretty' : 'json',
  } satisfies Config

  it('gives the defaults, frozen', () => {
    expect(readConfig({})).toEqual(defaults)
    expect(Object.isFrozen(readConfig({}))).toBe(true)
  })

  it('equals a file with only empty values, and one with only spaces', () => {
    const names = referenceNames()
    expect(names.length).toBeGreaterThan(15)
    for (const empty of ['', ' ', '\t'])
      expect(readConfig(Object.fromEntries(names.map((name) => [name, empty])))).toEqual(defaults)
  })

  it('equals .env.example as shipped', () => {
    const example = Object.fromEntries(
      readFileSync('.env.example', 'utf8')
        .split('\n')
        .filter((line) => /^[A-Z_]+=/.test(line))
        .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
    )
    expect(readConfig(example)).toEqual(defaults)
  })

  it('is not changed by unknown variables', () => {
    expect(readConfig({ HOSTNAME: 'x', Port: '1', NODE_ENV: 'production' })).toEqual(defaults)
  })
})

it('has a delay before the stop by default if other machines may reach the service', () => {
  expect(readConfig({ HOST: '0.0.0.0' }).stopDelaySeconds).toBe(5)
  expect(readConfig({ TRUST_PROXY: '127.0.0.1', STOP_DELAY_SECONDS: '0' }).stopDelaySeconds).toBe(0)
})

it('refuses lists without a value, which would do nothing', () => {
  expect(errorsOf({ REQUIRE_SECOND_FACTOR: ',', TRUST_PROXY: ', ,' })).toEqual([
    expect.stringMatching(/^REQUIRE_SECOND_FACTOR must be roles, separated by commas: admin/),
    expect.stringMatching(/^TRUST_PROXY must be addresses or networks of proxies/),
  ])
})

function referenceNames(): string[] {
  return [...readFileSync('.env.example', 'utf8').matchAll(/^([A-Z_]+)=/gm)].map(([, name]) => name ?? '')
}

describe('a secret in a file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'guiche-secrets-'))
  afterAll(() => rmSync(folder, { recursive: true }))
  const write = (name: string, content: string) => {
    const path = join(folder, name)
    writeFileSync(path, content)
    return path
  }

  it('is read as if it were in the variable, without the newline at its end', () => {
    const values = {
      DATABASE_URL: 'postgres://user:p@db.example.com/guiche',
      DATABASE_READ_URL: 'postgres://user:p@standby.example.com/guiche',
      SECRET_KEY: newSecretKey(),
      SECRET_KEY_PREVIOUS: newSecretKey(),
      METRICS_TOKEN: 'a-metrics-token',
      OIDC_CLIENT_SECRET: 'of-the-provider',
      SMTP_URL: 'smtps://user:password@smtp.example.com',
      ALERT_SLACK_URL: 'https://hooks.slack.com/services/a/b/c',
      ALERT_TELEGRAM_TOKEN: '123456:abcdefghijklmnopqrstuvwxyz',
      ALERT_WEBHOOK_SECRET: `whsec_${'a'.repeat(43)}=`,
      EVENT_SINK: 'nats://user:password@nats.example.com',
    }
    const files = Object.entries(values).map(([name, value]) => [`${name}_FILE`, write(name, `${value}\n`)])
    const more = {
      OIDC_ISSUER: 'https://a.example',
      OIDC_CLIENT_ID: 'a',
      OIDC_ROLES_CLAIM: 'a',
      OIDC_ROLES: 'a=admin',
      ALERT_EMAIL_TO: 'a@example.com',
      ALERT_TELEGRAM_CHAT: '1',
      ALERT_WEBHOOK_URL: 'https://example.com',
    }
    const [read, expected] = [readConfig({ ...more, ...Object.fromEntries(files) }), readConfig({ ...more, ...values })]
    expect(read).toEqual({ ...expected, variable: read.variable })
    // ACQUIRERS_FILE is no secret in a file.
    const named = referenceNames().filter((name) => name.endsWith('_FILE') && name !== 'ACQUIRERS_FILE')
    expect(files.map(([name]) => name).toSorted()).toEqual(named.toSorted())
  })

  it('is refused with the names of the variable and the file', () => {
    const [missing, empty, wrong] = [join(folder, 'missing'), write('empty', '\n'), write('wrong', 'x-secret')]
    expect(errorsOf({ SECRET_KEY_FILE: missing, METRICS_TOKEN_FILE: empty })).toEqual([
      `SECRET_KEY_FILE names the file ${missing}, which does not exist or may not be read`,
      `METRICS_TOKEN_FILE names the file ${empty}, which is empty`,
    ])
    expect(errorsOf({ SECRET_KEY_FILE: wrong })).toEqual([
      `SECRET_KEY (in ${wrong}) must be 32 bytes in base64url (\`npx guiche secret-key\` makes one)`,
    ])
    expect(errorsOf({ METRICS_TOKEN: 'a-metrics-token', METRICS_TOKEN_FILE: wrong })).toEqual([
      'METRICS_TOKEN_FILE cannot be combined with METRICS_TOKEN: set one of them',
    ])
  })
})

it('reads each of many variables into its setting', () => {
  const secretKey = newSecretKey()
  const config = readConfig({
    HOST: '0.0.0.0',
    PORT: '8080',
    BASE_URL: 'https://pix.example.com/',
    DATA_DIR: '/var/lib/guiche',
    DATABASE_URL: 'postgres://user:p%40ss@db.example.com:5433/guiche?sslmode=require',
    DATABASE_READ_URL: 'postgres://user@one,two/guiche?target_session_attrs=standby',
    DATABASE_CONNECTIONS_MAX: '50',
    DATABASE_WAIT_SECONDS: '7',
    PROCESSES: '3',
    SECRET_KEY: secretKey,
    AUTH_ISSUER: 'https://sso.example.com/realms/shops',
    AUTH_AUDIENCE: 'guiche',
    TOKEN_LIFETIME_SECONDS: '300',
    RATE_LIMIT_CREATE: '0.5',
    RATE_LIMIT_CREATE_BURST: '7',
    CELL: 'a1',
    CELLS: 'a1=https://a.example.com/',
    RATE_LIMIT_TOKEN: '1',
    RATE_LIMIT_READ: '0.5',
    CONNECTIONS_PER_ADDRESS: '0',
    SIMULATOR_URL: 'http://simulator:4010',
    ATTRIBUTION_APPROVAL_ABOVE: '100000',
    ATTRIBUTION_THRESHOLD: '80',
    WEBHOOK_ALLOW_PRIVATE: 'true',
    RETENTION_ATTEMPTS_DAYS: '60',
    RETENTION_CALLBACKS_DAYS: '90',
    RETENTION_EXCHANGES_DAYS: '7',
    RETENTION_PERSONAL_DATA_DAYS: '1825',
    TRUST_PROXY: '127.0.0.1, 10.0.0.0/8',
    REQUIRE_SECOND_FACTOR: 'admin, finance',
    METRICS_TOKEN: 'a-metrics-token',
    STOP_DELAY_SECONDS: '20',
    ALERT_LANGUAGE: 'pt',
    LOG_LEVEL: 'warn',
    LOG_FORMAT: 'pretty',
    EVENT_SINK: 'nats://mq.example.com:4222?subject=pix',
  })
  expect(config).toEqual({
    host: '0.0.0.0',
    port: 8080,
    baseUrl: 'https://pix.example.com',
    cell: 'a1',
    cells: [{ cell: 'a1', address: 'https://a.example.com' }],
    dataDir: '/var/lib/guiche',
    databaseUrl: 'postgres://user:p%40ss@db.example.com:5433/guiche?sslmode=require',
    databaseReadUrl: 'postgres://user@one,two/guiche?target_session_attrs=standby',
    processes: 3,
    databaseConnectionsMax: 50,
    databaseWaitMs: 7_000,
    secretKeyPrevious: null,
    secretKey: { current: Buffer.from(secretKey, 'base64url'), former: [] },
    authIssuer: 'https://sso.example.com/realms/shops',
    authAudience: 'guiche',
    oidc: null,
    tracing: null,
    tokenLifetimeSeconds: 300,
    rateLimitCreate: { perSecond: 0.5, burst: 7 },
    rateLimitToken: { perSecond: 1, burst: 5 },
    rateLimitRead: { perSecond: 0.5, burst: 1 },
    connectionsPerAddress: 0,
    alerts: { ...noAlerts, language: 'pt' },
    eventSink: { kind: 'nats', name: 'nats', url: 'nats://mq.example.com:4222', destination: 'pix' },
    acquirersFile: null,
    variable: expect.any(Function),
    simulatorUrl: 'http://simulator:4010',
    attributionApprovalAbove: 100_000,
    attributionThreshold: 80,
    webhookAllowPrivate: true,
    retention: { attemptsDays: 60, callbacksDays: 90, exchangesDays: 7, personalDataDays: 1825 },
    trustedProxies: ['127.0.0.1', '10.0.0.0/8'],
    isPublic: true,
    stopDelaySeconds: 20,
    requireSecondFactor: ['admin', 'finance'],
    metricsToken: 'a-metrics-token',
    logLevel: 'warn',
    logFormat: 'pretty',
  })
})

describe('numbers', () => {
  const edges: [name: string, low: string, high: string, below: string, above: string][] = [
    ['PORT', '0', '65535', '-1', '65536'],
    ['DATABASE_CONNECTIONS_MAX', '4', '200', '3', '201'],
    ['DATABASE_WAIT_SECONDS', '1', '60', '0', '61'],
    ['PROCESSES', '1', '20', '0', '21'],
    ['TOKEN_LIFETIME_SECONDS', '60', '86400', '59', '86401'],
    ['RATE_LIMIT_CREATE', '0', '1000000', '-1', '1000001'],
    ['RATE_LIMIT_CREATE_BURST', '1', '10000000', '0', '10000001'],
    ['RETENTION_ATTEMPTS_DAYS', '7', '3650', '6', '3651'],
    ['RETENTION_CALLBACKS_DAYS', '8', '3650', '7', '3651'],
    ['RETENTION_EXCHANGES_DAYS', '1', '3650', '0', '3651'],
    ['RATE_LIMIT_TOKEN', '0', '1000000', '-0.1', '1000000.1'],
    ['RATE_LIMIT_READ', '0', '1000000', '-0.1', '1000000.1'],
    ['CONNECTIONS_PER_ADDRESS', '0', '10000', '-1', '10001'],
  ]

  it('are accepted up to both limits', () => {
    for (const [name, low, high, below, above] of edges) {
      for (const good of [low, high]) expect(errorsOf({ [name]: good }), `${name}=${good}`).toEqual([])
      expect(errorsOf({ [name]: below })).toEqual([`${name} must be at least ${low}`])
      expect(errorsOf({ [name]: above })).toEqual([`${name} must be at most ${high}`])
    }
  })

  it('of database connections are divided among the processes', () => {
    const connections = ['1', '4', '5', '20'].map((PROCESSES) => readConfig({ PROCESSES }).databaseConnectionsMax)
    expect(connections).toEqual([20, 20, 16, 4])
    expect(readConfig({ PROCESSES: '20', DATABASE_CONNECTIONS_MAX: '30' }).databaseConnectionsMax).toBe(30)
  })

  it('are numbers', () => {
    for (const [name] of edges)
      for (const text of ['abc', '1,5', '10s', 'NaN', 'true'])
        expect(errorsOf({ [name]: text })[0], `${name}=${text}`).toMatch(
          new RegExp(`^${name} must be a (whole )?number$`),
        )
    expect(errorsOf({ PORT: '30.5' })).toEqual(['PORT must be a whole number'])
  })

  it('have a burst derived from the rate, and never less than one', () => {
    const burstOf = (environment: Record<string, string>) => readConfig(environment).rateLimitCreate.burst
    expect(burstOf({ RATE_LIMIT_CREATE: '10' })).toBe(20)
    expect(burstOf({ RATE_LIMIT_CREATE: '0.1' })).toBe(1)
    expect(burstOf({ RATE_LIMIT_CREATE: '0' })).toBe(1)
    expect(readConfig({ RATE_LIMIT_TOKEN: '0.1' }).rateLimitToken).toEqual({ perSecond: 0.1, burst: 1 })
  })
})

describe('addresses', () => {
  it('lose a trailing slash, except for the issuer, where it is part of the name', () => {
    expect(readConfig({ BASE_URL: 'https://a.example/pix//' }).baseUrl).toBe('https://a.example/pix')
    expect(readConfig({ SIMULATOR_URL: 'http://a:1/' }).simulatorUrl).toBe('http://a:1')
    expect(readConfig({ AUTH_ISSUER: 'https://a.example/', AUTH_AUDIENCE: 'any' }).authIssuer).toBe(
      'https://a.example/',
    )
  })

  it('are URLs with the right protocol, to which a path can be appended', () => {
    for (const name of ['BASE_URL', 'AUTH_ISSUER', 'SIMULATOR_URL']) {
      for (const text of ['a.example', 'ftp://a.example', '//a.example', 'https://', 'javascript:x'])
        expect(errorsOf({ AUTH_AUDIENCE: 'a', [name]: text })).toEqual([
          `${name} must be a URL that begins with http:// or https://`,
        ])
      for (const text of ['https://a.example/?a=b', 'https://a.example#x'])
        expect(errorsOf({ AUTH_AUDIENCE: 'a', [name]: text })).toEqual([
          `${name} must be a URL without a query and a fragment`,
        ])
    }
    expect(readConfig({ DATABASE_URL: 'postgresql://h/d' }).databaseUrl).toBe('postgresql://h/d')
    expect(errorsOf({ DATABASE_URL: 'mysql://h/d' })).toEqual([
      expect.stringMatching(/^DATABASE_URL must be a URL that begins with postgres:\/\/ or postgresql:\/\/, such as/),
    ])
    expect(errorsOf({ DATABASE_READ_URL: 'postgresql://h/d?target_session_attrs=primary' })).toEqual([
      'DATABASE_READ_URL has target_session_attrs=primary, but must have one of standby, any, or none',
      'DATABASE_READ_URL needs DATABASE_URL: the embedded PostgreSQL has no standby',
    ])
  })
})

describe('other variables', () => {
  it('have one of the allowed values', () => {
    for (const text of ['yes', '1', 'TRUE'])
      expect(errorsOf({ WEBHOOK_ALLOW_PRIVATE: text })).toEqual(['WEBHOOK_ALLOW_PRIVATE must be true or false'])
    for (const text of ['true', '10.0.0.0/33', '10.0.0.1,proxy', '::1/129', '10.0.0.0/8/8'])
      expect(errorsOf({ TRUST_PROXY: text })[0]).toContain('TRUST_PROXY must be addresses or networks')
    expect(readConfig({ TRUST_PROXY: '::1, fd00::/8' }).trustedProxies).toEqual(['::1', 'fd00::/8'])
    expect(errorsOf({ LOG_LEVEL: 'loud' })).toEqual(['LOG_LEVEL must be one of debug, info, warn, error, silent'])
    expect(errorsOf({ LOG_FORMAT: 'xml' })).toEqual(['LOG_FORMAT must be one of auto, json, pretty'])
    expect(errorsOf({ METRICS_TOKEN: '1234567' })).toEqual(['METRICS_TOKEN must have at least 8 characters'])
    expect(errorsOf({ METRICS_TOKEN: '12345678' })).toEqual([])
  })

  it('include a secret key of 32 bytes, in base64 or base64url', () => {
    const bytes = Buffer.alloc(32, 0xfb)
    for (const text of [bytes.toString('base64url'), bytes.toString('base64')])
      expect(readConfig({ SECRET_KEY: text }).secretKey?.current).toEqual(bytes)
    for (const text of ['secret', bytes.toString('hex'), Buffer.alloc(31).toString('base64url'), 'ü'.repeat(43)])
      expect(errorsOf({ SECRET_KEY: text })).toEqual([
        'SECRET_KEY must be 32 bytes in base64url (`npx guiche secret-key` makes one)',
      ])
  })
})

it('readConfig reports every error at once, and no value', () => {
  const wrong = {
    PORT: 'x-port',
    BASE_URL: 'x-base',
    DATABASE_URL: 'x-database',
    DATABASE_CONNECTIONS_MAX: '1',
    SECRET_KEY: 'x-secret',
    AUTH_ISSUER: 'x-issuer',
    TOKEN_LIFETIME_SECONDS: '1',
    RATE_LIMIT_CREATE: '-1',
    RATE_LIMIT_CREATE_BURST: '0',
    RATE_LIMIT_TOKEN: '-1',
    SIMULATOR_URL: 'x-simulator',
    WEBHOOK_ALLOW_PRIVATE: 'x-allow',
    TRUST_PROXY: 'x-trust',
    METRICS_TOKEN: 'x-token',
    LOG_LEVEL: 'x-level',
    LOG_FORMAT: 'x-format',
  }
  const errors = errorsOf(wrong)
  expect(errors.map((error) => error.split(' ')[0]).sort()).toEqual(Object.keys(wrong).sort())
  expect(errors.join()).not.toContain('x-')
})

it('readConfig accepts either a simulator or an acquirers file, whose own variables can be read', () => {
  const config = readConfig({ ACQUIRERS_FILE: './acquirers.json', EFI_SECRET: 's' })
  expect(config.acquirersFile).toBe(resolve('acquirers.json'))
  expect(config.variable('EFI_SECRET')).toBe('s')
  expect(errorsOf({ ACQUIRERS_FILE: 'a.json', SIMULATOR_URL: 'http://a' })).toHaveLength(1)
  // Only QR codes of the built-in simulator contain BASE_URL, so only with that simulator is its length limited.
  const long = `https://${'a'.repeat(60)}.example.com`
  expect(errorsOf({ BASE_URL: long })).toEqual([expect.stringContaining('BASE_URL must have at most 48 characters')])
  expect(readConfig({ ACQUIRERS_FILE: 'a.json', BASE_URL: long }).baseUrl).toBe(long)
})

it('readConfig requires AUTH_AUDIENCE with AUTH_ISSUER, or an explicit waiver', () => {
  const AUTH_ISSUER = 'https://sso.example.com'
  expect(errorsOf({ AUTH_ISSUER })).toEqual([
    expect.stringContaining('AUTH_AUDIENCE must be set together with AUTH_ISSUER'),
  ])
  expect(readConfig({ AUTH_ISSUER, AUTH_AUDIENCE: 'guiche' }).authAudience).toBe('guiche')
  expect(readConfig({ AUTH_ISSUER, AUTH_AUDIENCE: 'any' }).authAudience).toBeNull()
})

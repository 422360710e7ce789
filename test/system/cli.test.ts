import { execFile, spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { decodeProtectedHeader } from 'jose'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { scopes } from '../../src/auth/scopes.ts'
import { newSecretKey, parseSecretKey } from '../../src/lib/secrets.ts'
import { manualClock } from '../support/clock.ts'
import { type CommandLine, openCommandLine } from '../support/command-line.ts'
import { createEmptyDatabase } from '../support/database.ts'
import { fetchToken, startTestService, type TestService } from '../support/service.ts'
import { registerShop, requestToken } from '../support/token.ts'

type Ran = { code: number; stdout: string; stderr: string }
type Made = { clientId: string; clientSecret: string; webhookSecret: string; merchantId: string }

/** The service, on the same database as the commands. Its clock is set to real time, which the commands use. */
let service: TestService
let line: CommandLine
/** The working directory of separate processes: a folder without a .env file. */
let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'guiche-cli-'))
  service = await startTestService({ clock: manualClock(new Date()) })
  line = await openCommandLine(service)
})
afterAll(async () => {
  await line.stop()
  await service.stop()
  await rm(folder, { recursive: true, force: true })
})

async function run(args: string[], environment?: Record<string, string>): Promise<Ran> {
  if (!environment) return await line.run(args)
  const own = await openCommandLine({ connectionString: service.connectionString, environment })
  const ran = await own.run(args)
  await own.stop()
  return ran
}

/** Runs the compiled CLI in a process of its own, as an operator does. */
async function runAlone(args: string[]): Promise<Ran> {
  const main = join(inject('build'), 'src/cli/main.js')
  const env = { PATH: process.env.PATH, DATABASE_URL: service.connectionString }
  return await new Promise((resolve) => {
    execFile(process.execPath, [main, ...args], { cwd: folder, env }, (error, stdout, stderr) => {
      // The code is null if a signal ended the process.
      resolve({ code: error ? Number(error.code ?? Number.NaN) : 0, stdout, stderr })
    })
  })
}

/** Runs the compiled CLI with a reader that ends before it has read anything. */
async function runWithoutReader(args: string[]): Promise<{ code: number | null; stderr: string }> {
  const main = join(inject('build'), 'src/cli/main.js')
  const child = spawn(process.execPath, [main, ...args], { cwd: folder, env: { PATH: process.env.PATH } })
  child.stdout.destroy()
  let stderr = ''
  child.stderr.on('data', (data) => (stderr += String(data)))
  return await new Promise((resolve) => child.once('close', (code) => resolve({ code, stderr })))
}

/** Runs a command with `--json`: standard output has only JSON, and standard error is empty. */
async function runJson<Answer>(args: string[], environment?: Record<string, string>): Promise<Answer> {
  const { code, stdout, stderr } = await run([...args, '--json'], environment)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return JSON.parse(stdout)
}

/** The command failed, with a message on standard error that says what to do. */
async function expectFailure(args: string[], message: string | RegExp, environment?: Record<string, string>) {
  const { code, stdout, stderr } = await run(args, environment)
  expect({ code, stdout }, stderr).toEqual({ code: 1, stdout: '' })
  expect(stderr).toMatch(message)
  expect(stderr).not.toMatch(/^\s+at .*:\d+:\d+/m)
}

/** Sets the clock of the service to real time, which the commands use. */
function catchUp(): void {
  service.clock.set(new Date())
}

describe('guiche client create', () => {
  it('creates a client that gets a token immediately, with all scopes', async () => {
    const made = await runJson<Made>(['client', 'create', '--name', 'Loja São João', '--client-id', 'loja-1'])
    expect(made).toEqual({
      merchantId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      clientId: 'loja-1',
      clientSecret: expect.stringMatching(/^[\w-]{43}$/),
      webhookSecret: expect.stringMatching(/^whsec_/),
    })
    const token = await fetchToken(service.baseUrl, made)
    expect((await service.call('/withdrawal', { token })).status).toBe(200)
  })

  it('prints the same for people, and says that it is shown once', async () => {
    const named = ['--scopes', 'transaction.read,balance.read']
    const { code, stdout, stderr } = await run(['client', 'create', '--name', 'Loja', ...named])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const [, clientId = ''] = /^clientId +(gc_[0-9a-f]{24})$/m.exec(stdout) ?? []
    const [, clientSecret = ''] = /^clientSecret +([\w-]{43})$/m.exec(stdout) ?? []
    expect(stdout).toMatch(/^webhookSecret +whsec_\S+$/m)
    expect(stdout).toMatch(/Store the secrets now: they are not shown again\.\n$/)
    const { body } = await requestToken(service, { form: { client_id: clientId, client_secret: clientSecret } })
    expect(body.scope).toBe('transaction.read,balance.read')
  })

  it('refuses what is missing, malformed or exists already', async () => {
    await registerShop(service, { clientId: 'taken' })
    await Promise.all([
      expectFailure(['client', 'create'], /required option '--name <name>' not specified/),
      expectFailure(['client', 'create', '--name', 'x', '--client-id', 'a b'], /3 to 128 letters, digits/),
      expectFailure(
        ['client', 'create', '--name', 'x', '--client-id', 'taken'],
        /The client taken already exists\. `npx guiche client rotate-secret taken` gives it a new secret/,
      ),
    ])
    await expectFailure(['client', 'create', '--name', 'x', '--scopes', 'all'], /Valid scopes: transaction\.read, /)
  })

  it('requires --client-id, and creates no client secret, when an external provider issues the tokens', async () => {
    const environment = { AUTH_ISSUER: 'https://sso.example.com/realms/shops', AUTH_AUDIENCE: 'guiche' }
    await expectFailure(['client', 'create', '--name', 'x'], /pass --client-id/, environment)
    const made = await runJson(['client', 'create', '--name', 'x', '--client-id', 'known-there'], environment)
    expect(Object.keys(made as object).sort()).toEqual(['clientId', 'merchantId', 'webhookSecret'])
  })
})

describe('guiche client list', () => {
  it('shows every client and no secret', async () => {
    const made = await registerShop(service, { scopes: ['balance.read'] })
    const list = await runJson<Record<string, unknown>[]>(['client', 'list'])
    expect(list.find(({ clientId }) => clientId === made.clientId)).toEqual({
      clientId: made.clientId,
      name: 'Shop',
      isActive: true,
      merchantId: made.merchantId,
      createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
      tokensRefusedBefore: null,
      movedTo: null,
      scopes: ['balance.read'],
    })
    expect(list.find(({ name }) => name === 'Sandbox')).toMatchObject({ isActive: true, scopes })
    const { stdout } = await run(['client', 'list'])
    expect(stdout.split('\n')[0]).toMatch(
      /^clientId +name +state +movedTo +merchantId +createdAt +tokensRefusedBefore +scopes$/,
    )
    expect(stdout).toMatch(new RegExp(`^${made.clientId} +Shop +active `, 'm'))
    expect(stdout).not.toContain(made.clientSecret)
  })
})

describe('guiche client rotate-secret', () => {
  it('creates a second secret, and ends all earlier ones immediately with --overlap-hours 0', async () => {
    const made = await registerShop(service)
    const rotated = await runJson<Made & { formerExpiresAt: string }>(['client', 'rotate-secret', made.clientId])
    expect(Object.keys(rotated)).toEqual(['clientId', 'clientSecret', 'formerExpiresAt'])
    const inHours = (Date.parse(rotated.formerExpiresAt) - Date.now()) / 3_600_000
    expect(inHours).toBeGreaterThan(23.9)
    expect(inHours).toBeLessThanOrEqual(24)
    for (const secret of [made, rotated]) await fetchToken(service.baseUrl, secret)

    const last = await runJson<Made>(['client', 'rotate-secret', made.clientId, '--overlap-hours', '0'])
    catchUp()
    await fetchToken(service.baseUrl, last)
    for (const { clientId, clientSecret } of [made, rotated]) {
      const form = { client_id: clientId, client_secret: clientSecret }
      expect((await requestToken(service, { form })).status).toBe(401)
    }
  })

  it('creates a new webhook secret with --webhook, and keeps the client secret', async () => {
    const made = await registerShop(service)
    const rotated = await runJson<Made>(['client', 'rotate-secret', made.clientId, '--webhook'])
    expect(Object.keys(rotated)).toEqual(['clientId', 'webhookSecret', 'formerExpiresAt'])
    expect(rotated.webhookSecret).toMatch(/^whsec_/)
    expect(rotated.webhookSecret).not.toBe(made.webhookSecret)
    await fetchToken(service.baseUrl, made)
  })

  it('repeats a rotation under the same --id after a lost response: the secret that was in use stays valid', async () => {
    const made = await registerShop(service)
    const { stderr } = await run(['client', 'rotate-secret', made.clientId])
    const [, id = ''] = stderr.match(/repeat the command with --id (\S+)\.\n/) ?? []
    const again = await runJson<Made>(['client', 'rotate-secret', made.clientId, '--id', id])
    for (const secret of [made, again]) await fetchToken(service.baseUrl, secret)
  })

  it('prints until when the former secret is valid, and refuses an unknown client and invalid values', async () => {
    const made = await registerShop(service)
    const { stdout } = await run(['client', 'rotate-secret', made.clientId])
    expect(stdout).toMatch(/Store it now: it is not shown again\. No former secret is valid after \d{4}-\S+Z\.\n$/)
    await Promise.all([
      expectFailure(
        ['client', 'rotate-secret', 'nobody'],
        /There is no client with this id\. `npx guiche client list` lists/,
      ),
      expectFailure(['client', 'rotate-secret', 'x', '--overlap-hours', 'soon'], /A number from 0 to 2160/),
      expectFailure(['client', 'rotate-secret', made.clientId, '--overlap-hours', ''], /A number from 0 to 2160/),
    ])
  })
})

describe('guiche client revoke', () => {
  it('revokes a client: the list shows it as inactive, and a new secret enables it again', async () => {
    const made = await registerShop(service)
    catchUp()
    const token = await fetchToken(service.baseUrl, made)
    expect(await runJson(['client', 'revoke', made.clientId])).toEqual({
      clientId: made.clientId,
      revoked: 'tokens and client secrets',
    })
    catchUp()
    const form = { client_id: made.clientId, client_secret: made.clientSecret }
    expect((await requestToken(service, { form })).status).toBe(401)
    const refused = await service.call<{ code: string }>('/transaction', { token })
    expect([refused.status, refused.body.code]).toEqual([401, 'token_revoked'])
    const list = await runJson<{ clientId: string; isActive: boolean }[]>(['client', 'list'])
    expect(list.find(({ clientId }) => clientId === made.clientId)?.isActive).toBe(false)
    const rotated = await runJson<Made>(['client', 'rotate-secret', made.clientId])
    catchUp()
    await fetchToken(service.baseUrl, rotated)
  })

  it('keeps the secrets with --tokens-only, and prints what the client can still do', async () => {
    const made = await registerShop(service)
    const tokens = await run(['client', 'revoke', made.clientId, '--tokens-only'])
    expect(tokens.stdout).toMatch(/^revoked +tokens$/m)
    expect(tokens.stdout).toContain('It can get new tokens with its current secrets.')
    await fetchToken(service.baseUrl, made)
    const all = await run(['client', 'revoke', made.clientId])
    expect(all.stdout).toContain(`\`npx guiche client rotate-secret ${made.clientId}\` gives it a new secret`)
    await expectFailure(['client', 'revoke', 'nobody'], /There is no client with this id/)
  })
})

describe('guiche user invite', () => {
  // An address that is not ASCII: nobody could sign in with it.
  it.each(['ana at example', 'josé@example.com'])('refuses the e-mail address %s', async (email) => {
    await expectFailure(['user', 'invite', '--email', email, '--role', 'admin'], /such as ana@example\.com/)
  })
})

describe('guiche migrate', () => {
  it('creates the schema in an empty database, and changes nothing the second time', async () => {
    const { db, connectionString, drop } = await createEmptyDatabase()
    const environment = { DATABASE_URL: connectionString }
    await expectFailure(['client', 'list'], /the database has no tables yet. .*`npx guiche migrate`/, environment)
    expect(await runJson(['migrate', '--status'], environment)).toMatchObject({ state: 'older', applied: [] })
    const first = await run(['migrate'], environment)
    expect(first).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^The database schema is up to date. /),
      stderr: '',
    })
    expect(await runJson(['migrate'], environment)).toMatchObject({ state: 'current', pending: [] })
    expect((await run(['migrate', '--status'], environment)).stdout).toBe(first.stdout)
    expect((await db.pool.query('select count(*)::int as count from clients')).rows).toEqual([{ count: 0 }])
    await drop()
  })
})

describe('keys', () => {
  it('guiche secret-key prints a new key each time, and nothing else', async () => {
    const [one, other] = await Promise.all([run(['secret-key']), run(['secret-key'])])
    for (const { stdout, stderr } of [one, other]) {
      expect(stdout).toMatch(/^[\w-]{43}\n$/)
      expect(parseSecretKey(stdout.trim())).not.toBeNull()
      expect(stderr).toBe('')
    }
    expect(one.stdout).not.toBe(other.stdout)
  })

  it('guiche rotate-signing-key creates the key that signs from then on', async () => {
    const { stdout, stderr } = await run(['rotate-signing-key'])
    expect(stderr).toBe('')
    const [, kid] = /^kid {2}([\w-]+)\n\nRunning services use it within a minute\./.exec(stdout) ?? []
    const { db, connectionString, clock, sandbox } = service
    const startedAfter = await startTestService({ database: { db, connectionString }, clock })
    expect(decodeProtectedHeader(await fetchToken(startedAfter.baseUrl, sandbox)).kid).toBe(kid)
    await startedAfter.stop()
  })
})

describe('an error', () => {
  it('of the configuration is listed in full', async () => {
    await expectFailure(
      ['client', 'list'],
      /The configuration is not valid:\n {2}- PORT must be a whole number\n {2}- LOG_LEVEL must be one of debug.*\n {2}- BASE_URL must be a URL/,
      { PORT: 'http', LOG_LEVEL: 'loud', BASE_URL: 'guiche' },
    )
  })

  it('of the database is reported with what to check, and without its password', async () => {
    const closed = { DATABASE_URL: 'postgres://shop:secret-password@127.0.0.1:1/guiche' }
    const { stderr, code } = await run(['client', 'list'], closed)
    expect(code).toBe(1)
    expect(stderr).toMatch(
      /The database of DATABASE_URL cannot be used: .*ECONNREFUSED.* Check that it runs, and that address/,
    )
    expect(stderr).not.toContain('secret-password')
    const missing = new URL(service.connectionString)
    missing.pathname = '/missing_database'
    await expectFailure(['client', 'list'], /cannot be used: database "missing_database" does not exist\./, {
      DATABASE_URL: missing.href,
    })
  })

  it('of the secret key is reported', async () => {
    const environment = { SECRET_KEY: newSecretKey() }
    await expectFailure(
      ['client', 'list'],
      /this database still keeps its secrets under a generated key\. Start the service once/,
      environment,
    )
  })

  it('of the command is reported with the closest existing name', async () => {
    expect(await runAlone(['cliant'])).toMatchObject({ code: 1, stdout: '' })
    await expectFailure(['cliant'], /unknown command 'cliant'\n\(Did you mean client\?\)/)
    await expectFailure(['client', 'list', '--jsn'], /unknown option '--jsn'\n\(Did you mean --json\?\)/)
  })

  it('is not reported if the reader of the output closes it: the command ends as SIGPIPE ends others', async () => {
    expect(await runWithoutReader(['cell', 'a'])).toEqual({ code: 141, stderr: '' })
  })
})

describe('guiche', () => {
  it('prints its version with --version, and the commands with --help', async () => {
    const { version } = JSON.parse(await readFile('package.json', 'utf8')) as { version: string }
    expect((await run(['--version'])).stdout).toBe(`${version}\n`)
    const { code, stdout } = await runAlone(['client', '--help'])
    expect(code).toBe(0)
    for (const command of ['create', 'list', 'rotate-secret', 'revoke']) expect(stdout).toContain(command)
  })
})

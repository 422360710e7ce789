import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { chmodSync, existsSync, readFileSync, statSync } from 'node:fs'
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { delimiter, dirname, resolve } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, inject, it, vi } from 'vitest'
import { makeDatabaseFolder } from '../../test/support/database-folder.ts'
import { copyMigrated } from '../../test/support/migrated-folder.ts'
import { attachEmbeddedPostgres, type EmbeddedPostgres, startEmbeddedPostgres } from './embedded.ts'

const log = pino({ level: 'silent' })
const isLinux = process.platform === 'linux'
const isRoot = process.getuid?.() === 0
let folder: string
let dataDir: string
let started: EmbeddedPostgres[]
let children: ChildProcess[]

beforeEach(async () => {
  // Only this user may enter the folder. For root this is the hard case: PostgreSQL runs as another user.
  folder = await makeDatabaseFolder('guiche-embedded-')
  dataDir = `${folder}/data`
  started = []
  children = []
})

afterEach(async () => {
  for (const child of children) child.kill('SIGKILL')
  for (const postgres of started) await postgres.stop()
  await rm(folder, { recursive: true, force: true })
})

describe('a data folder', () => {
  it('is not made on Windows, where Guichê runs in WSL 2 or as a container', async () => {
    const { platform } = process
    Object.defineProperty(process, 'platform', { value: 'win32' })
    try {
      await expect(start()).rejects.toThrow('run Guichê in WSL 2 or as a container')
      expect(existsSync(dataDir)).toBe(false)
    } finally {
      Object.defineProperty(process, 'platform', { value: platform })
    }
  })

  // Creating a database takes three seconds of CPU: most other tests copy one.
  it('is created once by two starts at once after an interrupted one, with any path, and used again later', async () => {
    dataDir = `${folder}/joão's 100% "data"`
    await mkdir(`${dataDir}/postgres.new-cut/base`, { recursive: true })
    const both = await Promise.allSettled([start(), start()])
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(existsSync(`${dataDir}/postgres.new-cut`)).toBe(false)
    for (const cold of started) {
      await query(cold, 'create table notes (id int); insert into notes values (1)')
      await cold.stop()
    }
    const warm = await start()
    expect(await query(warm, 'select id from notes')).toEqual([{ id: 1 }])
  })

  it('has safe settings, UTF-8 and the needed extensions, and listens on no network', async () => {
    await prepare()
    const postgres = await start()
    const names = ['fsync', 'full_page_writes', 'synchronous_commit', 'listen_addresses', 'server_encoding', 'TimeZone']
    const [settings] = await query(
      postgres,
      `select ${names.map((name) => `current_setting('${name}') as "${name}"`).join(', ')}`,
    )
    expect(Object.values(settings)).toEqual(['on', 'on', 'on', '', 'UTF8', 'UTC'])
    await query(postgres, 'create extension pg_trgm; create extension btree_gin; create extension pgcrypto')
    const [row] = await query(
      postgres,
      "select lower('JOÃO') as lower, similarity('joão', 'joao') > 0 as alike, current_user as me",
    )
    expect(row).toEqual({ lower: 'joão', alike: true, me: 'guiche' })
    const [role] = await query(
      postgres,
      "select rolsuper, rolcreatedb, rolcreaterole from pg_roles where rolname = 'guiche'",
    )
    expect(role).toEqual({ rolsuper: false, rolcreatedb: false, rolcreaterole: false })
  })

  it('is accessible only to the user PostgreSQL runs as, like its socket', async () => {
    await prepare()
    const postgres = await start()
    const mode = (path: string) => statSync(path).mode & 0o777
    expect([mode(`${dataDir}/postgres`), mode(socketFolder(postgres))]).toEqual([0o700, 0o700])
  })

  it('may have a name too long for a socket', async () => {
    dataDir = `${folder}/${'long'.repeat(40)}/data`
    await prepare()
    const postgres = await start()
    expect(socketFolder(postgres).length).toBeLessThan(100)
    expect(await query(postgres, 'select 1 as one')).toEqual([{ one: 1 }])
    expect(await attachEmbeddedPostgres({ dataDir })).toEqual({ connectionString: postgres.connectionString })
    await postgres.stop()
    await rm(socketFolder(postgres), { recursive: true })
  })

  it('is refused when it contains something else', async () => {
    await mkdir(`${dataDir}/postgres`, { recursive: true })
    await writeFile(`${dataDir}/postgres/holiday.jpg`, '')
    await expect(start()).rejects.toThrow(/neither empty nor a database/)
  })

  it('is refused when another version made it', async () => {
    await prepare()
    await writeFile(`${dataDir}/postgres/PG_VERSION`, '17\n')
    await expect(start()).rejects.toThrow(/made by PostgreSQL 17, and this Guichê ships with 18/)
  })
})

describe('a second process', () => {
  it('is refused with the number of the first', async () => {
    await prepare()
    await start()
    await expect(start()).rejects.toThrow(`another Guichê (process ${process.pid}) is using DATA_DIR ${dataDir}`)
  })

  it('may attach if a server runs', async () => {
    expect(await attachEmbeddedPostgres({ dataDir })).toBeNull()
    await prepare()
    const postgres = await start()
    expect(await attachEmbeddedPostgres({ dataDir })).toEqual({ connectionString: postgres.connectionString })
    await postgres.stop()
    expect(await attachEmbeddedPostgres({ dataDir })).toBeNull()
  })
})

describe('after a kill -9 of the process that started it', () => {
  it('starts again with all committed data', async () => {
    await prepare()
    const child = await startInChild()
    const attached = await attachEmbeddedPostgres({ dataDir })
    await query(attached, 'create table notes (id int); insert into notes values (1)')
    await kill(child)
    expect(await query(await start(), 'select id from notes')).toEqual([{ id: 1 }])
  })

  it('takes over the server left behind, and stops it at the end', async () => {
    await prepare()
    const child = await startInChild({ PATH: await pathWithWeakSetpriv() })
    const pid = postmasterPid()
    await kill(child)
    expect(await attachEmbeddedPostgres({ dataDir })).not.toBeNull()
    const postgres = await start()
    expect(postmasterPid()).toBe(pid)
    expect(await query(postgres, 'select 1 as one')).toEqual([{ one: 1 }])
    await postgres.stop()
    expect(exists(pid)).toBe(false)
    expect(await attachEmbeddedPostgres({ dataDir })).toBeNull()
  })

  it('starts again when the server was killed too', async () => {
    await prepare()
    const child = await startInChild({ PATH: await pathWithWeakSetpriv() })
    const pid = postmasterPid()
    await query(await attachEmbeddedPostgres({ dataDir }), 'create table notes (id int)')
    await kill(child)
    process.kill(pid, 'SIGKILL')
    expect(await query(await start(), 'select id from notes')).toEqual([])
    expect(postmasterPid()).not.toBe(pid)
  })

  it.runIf(isLinux)('starts again when the server that was killed is a zombie', async () => {
    await prepare()
    const child = await startInChild({ PATH: await pathWithWeakSetpriv() })
    const pid = postmasterPid()
    // A stopped parent does not reap its children.
    child.kill('SIGSTOP')
    process.kill(pid, 'SIGKILL')
    await vi.waitFor(() => expect(readFileSync(`/proc/${pid}/stat`, 'utf8')).toMatch(/\) Z /), 90_000)
    expect(await attachEmbeddedPostgres({ dataDir })).toBeNull()
    // The stopped process still holds its lock, as it should; a new file has none.
    await rm(`${dataDir}/postgres.lock`)
    expect(await query(await start(), 'select 1 as one')).toEqual([{ one: 1 }])
    expect(postmasterPid()).not.toBe(pid)
  })

  it.runIf(isLinux)('does not mistake another program with the same process id for the server', async () => {
    await prepare()
    const program = spawn('sleep', ['100'], isRoot ? { uid: 65534, gid: 65534 } : {})
    children.push(program)
    const stale = [
      program.pid,
      `${dataDir}/postgres`,
      1_700_000_000,
      5432,
      `${dataDir}/run`,
      '',
      '  0  0',
      'ready   ',
      '',
    ]
    await writeFile(`${dataDir}/postgres/postmaster.pid`, stale.join('\n'))
    await writeFile(`${dataDir}/run/.s.PGSQL.5432.lock`, stale.join('\n'))
    expect(await attachEmbeddedPostgres({ dataDir })).toBeNull()
    expect(await query(await start(), 'select 1 as one')).toEqual([{ one: 1 }])
  })
})

it('continues after a crash of one of its processes', async () => {
  await prepare()
  const postgres = await start()
  const client = new pg.Client(postgres.connectionString)
  const cut = new Promise((resolve) => client.on('error', resolve))
  await client.connect()
  const { rows } = await client.query('select pg_backend_pid() as pid')
  process.kill(rows[0].pid, 'SIGKILL')
  await cut
  await vi.waitFor(async () => expect(await query(postgres, 'select 1 as one')).toEqual([{ one: 1 }]), 90_000)
})

it('a server left behind by an earlier process is restarted when it is killed', async () => {
  await prepare()
  const child = await startInChild({ PATH: await pathWithWeakSetpriv() })
  const pid = postmasterPid()
  await kill(child)
  const postgres = await startEmbeddedPostgres({ dataDir, log, onLost: () => {} })
  started.push(postgres)
  expect(postmasterPid()).toBe(pid)
  process.kill(pid, 'SIGKILL')
  const request = async () => expect(await query(postgres, 'select 1 as one')).toEqual([{ one: 1 }])
  await vi.waitFor(request, { timeout: 90_000, interval: 100 })
  expect(postmasterPid()).not.toBe(pid)
})

describe.runIf(isRoot && isLinux)('as root', () => {
  it('runs under its own user id, with one capability that lets it pass through folders', async () => {
    await prepare()
    const postgres = await start()
    const status = readFileSync(`/proc/${postmasterPid()}/status`, 'utf8')
    const { uid } = statSync(`${dataDir}/postgres`)
    expect([uid >= 50_000 && uid < 60_000, statSync(socketFolder(postgres)).uid]).toEqual([true, uid])
    expect(status).toContain(`Uid:\t${uid}\t${uid}`)
    expect(status).toMatch(/^CapEff:\t000000000000000[42]$/m)
  })

  it('does not admit other programs that run as nobody', async () => {
    await prepare()
    chmodSync(folder, 0o755)
    const postgres = await start()
    const socket = `${socketFolder(postgres)}/.s.PGSQL.5432`
    const program =
      "require('net').connect(process.argv[1], () => process.exit(0)).on('error', (e) => { process.stderr.write(e.code, () => process.exit(1)) })"
    const connectAs = async (id: number) =>
      await promisify(execFile)(process.execPath, ['-e', program, socket], { uid: id, gid: id, cwd: '/' })
    await connectAs(statSync(`${dataDir}/postgres`).uid)
    await expect(connectAs(65534)).rejects.toMatchObject({ stderr: 'EACCES' })
  })

  it('without the right to inspect processes, recognizes its server and takes no other program for it', async () => {
    await prepare()
    const { connectionString } = await start()
    expect(await attachWithoutCapability(dataDir)).toEqual({ connectionString })
    const program = spawn('sleep', ['100'], { uid: 65534, gid: 65534 })
    children.push(program)
    await mkdir(`${folder}/stale/postgres`, { recursive: true })
    await writeFile(`${folder}/stale/postgres/postmaster.pid`, `${program.pid}\n`)
    expect(await attachWithoutCapability(`${folder}/stale`)).toBeNull()
  })

  it.runIf(isOpen(resolve('.')))('needs neither capability nor setpriv if the folders are open', async () => {
    await prepare()
    chmodSync(folder, 0o755)
    await startInChild({ PATH: await pathWithoutSetpriv() })
    expect(readFileSync(`/proc/${postmasterPid()}/status`, 'utf8')).toMatch(/^CapEff:\t0000000000000000$/m)
    process.kill(postmasterPid(), 'SIGINT')
    // Until then it writes to the folder, which is removed next.
    await expect.poll(() => existsSync(`${dataDir}/postgres/postmaster.pid`)).toBe(false)
  })

  it('says what to do if the folders are closed and cannot be opened', async () => {
    const failed = startInChild({ PATH: await pathWithoutSetpriv() })
    await expect(failed).rejects.toThrow(/refuses to run as root.* choose another DATA_DIR, or set DATABASE_URL/)
  })
})

async function prepare(): Promise<void> {
  await mkdir(dataDir, { recursive: true })
  await copyMigrated(dataDir)
}

async function start(): Promise<EmbeddedPostgres> {
  const postgres = await startEmbeddedPostgres({ dataDir, log })
  started.push(postgres)
  return postgres
}

/** A child process that starts PostgreSQL on the data folder and stays until it is killed. */
function startInChild(environment: { PATH?: string } = {}): Promise<ChildProcess> {
  const module = JSON.stringify(`${inject('build')}/src/db/embedded.js`)
  const script = `
    import { startEmbeddedPostgres } from ${module}
    const log = { info() {}, warn() {}, error() {} }
    await startEmbeddedPostgres({ dataDir: process.argv[1], log })
    process.stdout.write('started')
    setInterval(() => {}, 1000)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script, dataDir], {
    env: { ...process.env, ...environment },
  })
  children.push(child)
  return new Promise((resolve, reject) => {
    let errors = ''
    child.stderr.on('data', (chunk) => {
      errors += chunk
    })
    child.stdout.once('data', () => resolve(child))
    child.once('close', () => reject(new Error(errors)))
  })
}

/** Attaches as root does in a container: without the capability to inspect the processes of other users. */
async function attachWithoutCapability(to: string): Promise<unknown> {
  const script = `
    import { attachEmbeddedPostgres } from ${JSON.stringify(`${inject('build')}/src/db/embedded.js`)}
    process.stdout.write(JSON.stringify(await attachEmbeddedPostgres({ dataDir: process.argv[1] })))`
  const program = [process.execPath, '--input-type=module', '-e', script, to]
  const capability = ['--bounding-set=-sys_ptrace', '--inh-caps=-sys_ptrace', '--']
  return JSON.parse((await promisify(execFile)('setpriv', [...capability, ...program])).stdout)
}

async function kill(child: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGKILL')
  await ended
}

async function query(to: { connectionString: string } | null, statement: string) {
  const client = new pg.Client(to?.connectionString)
  // When the connection breaks, the statement fails too, which the test sees. Without a listener the process would end.
  client.on('error', () => {})
  await client.connect()
  const { rows } = await client.query(statement)
  await client.end()
  return rows ?? []
}

function socketFolder(postgres: EmbeddedPostgres): string {
  return new URL(postgres.connectionString).searchParams.get('host') ?? ''
}

function postmasterPid(): number {
  return Number(readFileSync(`${dataDir}/postgres/postmaster.pid`, 'utf8').split('\n')[0])
}

/** A `PATH` whose `setpriv` ignores `--pdeathsig`, as where a server cannot be stopped with its parent. */
async function pathWithWeakSetpriv(): Promise<string> {
  const bin = `${folder}/weak`
  await mkdir(bin)
  const script = `#!/bin/sh
    shift 2
    if [ "$1" = -- ]; then shift; exec "$@"; fi
    PATH=\${PATH#*:} exec setpriv "$@"`
  await writeFile(`${bin}/setpriv`, script, { mode: 0o755 })
  return `${bin}${delimiter}${process.env.PATH}`
}

async function pathWithoutSetpriv(): Promise<string> {
  const bin = `${folder}/none`
  await mkdir(bin)
  await symlink('/usr/bin/flock', `${bin}/flock`)
  return bin
}

/** Neither gone nor a zombie. */
function exists(pid: number): boolean {
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

/** Whether any user may pass through this folder and its parents. */
function isOpen(path: string): boolean {
  const open = (statSync(path).mode & 0o001) !== 0
  return open && (path === '/' || isOpen(dirname(path)))
}

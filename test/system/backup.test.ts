import { statSync } from 'node:fs'
import { appendFile, chmod, chown, cp, mkdir, readdir, readFile, rename, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pino } from 'pino'
import { afterAll, expect, it, vi } from 'vitest'
import { attachEmbeddedPostgres, startEmbeddedPostgres } from '../../src/db/embedded.ts'
import { discardRestored, restoreBackup, writeBackup } from '../../src/db/embedded-backup.ts'
import { findBinaries } from '../../src/db/embedded-launcher.ts'
import { connect, type Db, sql } from '../../src/db/sql.ts'
import { dayOf } from '../../src/lib/brasilia.ts'
import { fetchAll, fetchSandboxToken, openShops } from '../crash/shops.ts'
import { openCommandLine } from '../support/command-line.ts'
import { createEmptyDatabase } from '../support/database.ts'
import { copyMigrated } from '../support/migrated-folder.ts'
import { findFreePort, makeDataDir, type ServiceProcess, startServiceProcess } from '../support/process.ts'
import { startOwnSimulator } from '../support/simulator-process.ts'
import { eventually, startTestReceiver } from '../support/webhooks.ts'

const cleanups: (() => Promise<unknown>)[] = []
afterAll(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup()
})

async function newDataDir(): Promise<string> {
  const { dataDir, remove } = await makeDataDir()
  cleanups.push(remove)
  return dataDir
}

/** As root, PostgreSQL's user gets a capability to read every file if a folder above the programs is closed to it. */
function needsCapability(): boolean {
  const isClosed = (folder: string): boolean =>
    (statSync(folder).mode & 0o001) === 0 || (folder !== '/' && isClosed(dirname(folder)))
  return process.getuid?.() === 0 && isClosed(findBinaries())
}

type Ran = { code: number; stdout: string; stderr: string }

async function guiche(dataDir: string, args: string[], environment = {}): Promise<Ran> {
  const line = await openCommandLine({ environment: { DATA_DIR: dataDir, ...environment } })
  cleanups.push(line.stop)
  return await line.run(args)
}

/** Runs a command with `--json` that must succeed. */
async function read<Answer>(dataDir: string, args: string[]): Promise<Answer> {
  const { code, stdout, stderr } = await guiche(dataDir, [...args, '--json'])
  expect({ code, stderr }, args.join(' ')).toEqual({ code: 0, stderr: '' })
  return JSON.parse(stdout) as Answer
}

/** A database whose write-ahead log is archived into the folder `wal`. */
async function createArchived(dataDir: string): Promise<string> {
  await copyMigrated(dataDir)
  const wal = join(dataDir, 'wal')
  await mkdir(wal)
  // PostgreSQL runs as a user of its own where we are root.
  await chmod(wal, 0o777)
  const documented = /archive_mode = on\n[^`]*/.exec(await readFile('docs/backups.md', 'utf8'))?.[0] ?? ''
  await appendFile(join(dataDir, 'postgres/postgresql.conf'), documented.replaceAll('/backup/wal', wal))
  // Left by interrupted copies: the documented archive command must replace them.
  const folder = join(dataDir, 'postgres/pg_wal')
  const { uid, gid } = await stat(folder)
  for (const name of (await readdir(folder)).filter((one) => /^[0-9A-F]{24}$/.test(one))) {
    await writeFile(join(wal, `${name}.part`), 'half')
    await chown(join(wal, `${name}.part`), uid, gid)
  }
  return wal
}

async function stop(service: ServiceProcess): Promise<void> {
  service.signal('SIGTERM')
  await service.ended
}

it('a backup made while shops sell is restored whole, and what came after it is found at the PSP or in the archive', async () => {
  const database = await createEmptyDatabase()
  cleanups.push(async () => await database.drop())
  const psp = await startOwnSimulator({}, { dataDir: await newDataDir(), databaseUrl: database.connectionString })
  cleanups.push(psp.stop)
  const receiver = await startTestReceiver()
  cleanups.push(receiver.stop)
  const port = await findFreePort()
  const open = async (dataDir: string) => {
    const service = await startServiceProcess({ dataDir, port, environment: { SIMULATOR_URL: psp.url } })
    cleanups.push(async () => await stop(service))
    return service
  }

  const original = await newDataDir()
  const wal = await createArchived(original)
  const service = await open(original)
  const token = await fetchSandboxToken(original, service.baseUrl)
  const sell = (name: string) =>
    openShops({
      addresses: [() => service.baseUrl, () => service.baseUrl],
      token,
      webhookUrl: receiver.url,
      name,
      pauseMs: 200,
    })
  // The service ignores payments made before it first read the PSP's list, so wait for that reading.
  const originalDb = await openDatabase(original)
  await eventually(async () => (await originalDb.query(sql`select from acquirer_cursors`)).length > 0)
  const shops = sell('order')
  await eventually(() => shops.paid.length >= 10)
  const acknowledged = [...shops.acknowledged]
  const file = join(original, 'guiche.tar.gz')
  const made = await read<{ file: string; bytes: number }>(original, ['backup', file])
  expect(made).toEqual({ file, bytes: (await stat(file)).size })
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  const soldUntil = shops.paid.length
  await eventually(() => shops.paid.length >= soldUntil + 5)
  await shops.stop()
  await eventually(async () =>
    (await fetchAll(service.baseUrl, token)).every(({ id, status }) => status === 'PAID' || !isPaid(shops, id)),
  )
  const moment = new Date()
  const late = sell('late')
  await eventually(() => late.paid.length >= 5)
  await late.stop()
  await stop(service)
  expect([...shops.surprises, ...late.surprises]).toEqual([])

  // The backup alone has all from before it. What was paid after it is found in the PSP's list.
  const restored = await newDataDir()
  const { code, stdout } = await guiche(restored, ['restore', file])
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^breaches +0$/m)])
  // Without --from only the last 24 hours are compared.
  const [, backupOf = ''] = /^backupOf +(\S+)$/m.exec(stdout) ?? []
  expect(stdout).toContain(`\`npx guiche reconcile --from ${dayOf(new Date(backupOf))}\``)
  const first = await open(restored)
  expect(await fetchIds(first, token)).toEqual(expect.arrayContaining(acknowledged.map(({ id }) => id)))
  const firstDb = await openDatabase(restored)
  await vi.waitFor(
    async () => {
      const found = await fetchAll(first.baseUrl, token)
      const known = new Set(found.filter(({ status }) => status === 'PAID').map(({ id }) => id))
      // A payment whose transaction is unknown goes to suspense after five minutes. Until then its job is queued.
      const waiting = JSON.stringify(await firstDb.query(sql`select key from jobs where key like '%unattributed%'`))
      const isKnown = ({ id, endToEndId }: Paid) =>
        known.has(id) || (endToEndId !== null && waiting.includes(endToEndId))
      const missing = [...shops.paid, ...late.paid].filter((one) => !isKnown(one))
      expect(missing, 'payments that were not found at the PSP').toEqual([])
    },
    { timeout: 90_000, interval: 500 },
  )
  const verified = await read<{ agree: boolean; payoutFreeze: { reason: string } }>(restored, ['ledger', 'verify'])
  expect(verified).toMatchObject({
    agree: true,
    payoutFreeze: { reason: expect.stringMatching(/^The backup of \S+ was restored\.$/) },
  })
  await stop(first)

  // With the archive: everything up to `moment`, and nothing after it.
  const recovered = await newDataDir()
  const until = ['--wal', wal, '--until', moment.toISOString()]
  expect(await read(recovered, ['restore', file, ...until])).toMatchObject({ breaches: 0 })
  const second = await startEmbeddedPostgres({ dataDir: recovered, log: pino({ level: 'silent' }) })
  cleanups.push(second.stop)
  const secondDb = await openDatabase(recovered)
  const ids = (await secondDb.query<{ id: string }>(sql`select id from transactions`)).map(({ id }) => id)
  expect(ids).toEqual(expect.arrayContaining(shops.acknowledged.map(({ id }) => id)))
  expect(late.acknowledged.filter(({ id }) => ids.includes(id))).toEqual([])
  expect(await read(recovered, ['ledger', 'verify'])).toMatchObject({ agree: true })

  // None of these restores was written into the archive: the next one follows the original to its end.
  const whole = await newDataDir()
  const { recoveredUntil } = await read<{ recoveredUntil: string }>(whole, ['restore', file, '--wal', wal])
  expect(new Date(recoveredUntil).getTime()).toBeGreaterThan(moment.getTime())
  const third = await startEmbeddedPostgres({ dataDir: whole, log: pino({ level: 'silent' }) })
  cleanups.push(third.stop)
  const all = await (await openDatabase(whole)).query<{ id: string }>(sql`select id from transactions`)
  expect(all.map(({ id }) => id)).toEqual(expect.arrayContaining(late.acknowledged.map(({ id }) => id)))
})

it('a restore that cannot reach the requested time says why and can be repeated', async () => {
  const original = await newDataDir()
  const wal = await createArchived(original)
  const file = join(original, 'guiche.tar.gz')
  expect(await guiche(original, ['backup', file])).toMatchObject({ code: 0 })
  const early = join(original, 'early')
  await cp(wal, early, { recursive: true })
  // Committed after the backup. PostgreSQL archives it when it shuts down.
  expect(await guiche(original, ['ledger', 'stop', '--reason', 'Ana said so.'])).toMatchObject({ code: 0 })
  const archived = await readdir(wal)

  const dataDir = await newDataDir()
  await chmod(dataDir, 0o711)
  const closed = join(original, 'closed')
  await cp(wal, closed, { recursive: true })
  for (const name of await readdir(closed)) await chmod(join(closed, name), 0)
  const gap = join(original, 'gap')
  await cp(wal, gap, { recursive: true })
  const last =
    archived
      .filter((name) => /^[0-9A-F]{24}$/.test(name))
      .sort()
      .at(-1) ?? ''
  const next = (Number.parseInt(last.slice(16), 16) + 1).toString(16).toUpperCase().padStart(8, '0')
  await rename(join(gap, last), join(gap, last.slice(0, 16) + next))
  // As a variable of the shell, it would name another folder.
  const variable = join(original, '$wal')
  await cp(wal, variable, { recursive: true })
  for (const path of [wal, early, closed, gap, variable]) await chmod(path, 0o755)
  await chmod(original, 0o711)
  for (const folder of [wal, early, gap, variable])
    for (const name of await readdir(folder)) await chmod(join(folder, name), 0o644)
  const restore = async (folder: string, ...rest: string[]) =>
    await guiche(dataDir, ['restore', file, '--wal', folder, ...rest])
  const cannotRead = (path: string) => ({ code: 1, stderr: expect.stringContaining(`${path} cannot be read`) })
  // A leftover of a restore that was killed.
  await mkdir(join(dataDir, 'postgres.new-killed'))
  const mistyped = join(original, 'wall')
  expect(await restore(mistyped)).toMatchObject(cannotRead(mistyped))
  // With a capability PostgreSQL's user reads every file, but does not write one: PostgreSQL itself fails then.
  const isRefused = { code: 1, stderr: expect.stringContaining('could not open file "pg_wal/RECOVERYXLOG"') }
  expect(await restore(closed)).toMatchObject(needsCapability() ? isRefused : cannotRead(closed))
  expect(await restore(early)).toMatchObject({ code: 1, stderr: expect.stringMatching(/has nothing after the backup/) })
  expect(await restore(gap)).toMatchObject({ code: 1, stderr: expect.stringContaining(`${gap} lacks ${last} and has`) })
  expect(await restore(variable)).toMatchObject({ code: 1, stderr: expect.stringContaining('or a dollar sign: use') })
  const tomorrow = new Date(Date.now() + 24 * 3_600_000).toISOString()
  expect(await restore(wal, '--until', tomorrow)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('recovery ended before configured recovery target was reached'),
  })
  expect((await readdir(dataDir)).filter((name) => /^postgres(?:\.new.*)?$/.test(name))).toEqual([])

  expect(await restore(wal)).toMatchObject({ code: 0, stdout: expect.stringMatching(/^recoveredUntil +\d{4}-/m) })
  const { payoutFreeze } = await read<{ payoutFreeze: { reason: string } }>(dataDir, ['ledger', 'verify'])
  expect(payoutFreeze.reason).toMatch(/^Ana said so\. The backup of \S+ was restored\.$/)
  expect(await readdir(wal)).toEqual(archived)
})

async function openDatabase(dataDir: string): Promise<Db> {
  const running = await attachEmbeddedPostgres({ dataDir })
  if (!running) throw new Error(`PostgreSQL does not run in ${dataDir}`)
  const db = connect({
    connectionString: running.connectionString,
    connectionsMax: 1,
    waitMs: 60_000,
    onError: () => {},
  })
  cleanups.push(async () => await db.pool.end())
  return db
}

type Paid = { id: string; endToEndId: string | null }

function isPaid({ paid }: { paid: { id: string }[] }, id: string): boolean {
  return paid.some((one) => one.id === id)
}

async function fetchIds({ baseUrl }: ServiceProcess, token: string): Promise<string[]> {
  return (await fetchAll(baseUrl, token)).map(({ id }) => id)
}

it('after a restore that was killed once its database was in place, the next start freezes payouts', async () => {
  const original = await newDataDir()
  await copyMigrated(original)
  expect(await guiche(original, ['ledger', 'stop', '--reason', 'Ana said so.'])).toMatchObject({ code: 0 })
  const file = join(original, 'guiche.tar.gz')
  const stray = 'postgres/notes (1).txt'
  await writeFile(join(original, stray), 'mine')
  expect(await guiche(original, ['backup', file])).toMatchObject({ code: 0 })
  const dataDir = await newDataDir()
  const by = { actor: 'cli:ana' }
  const { startedAt } = await restoreBackup({ dataDir, file, by, log: pino({ level: 'silent' }) })
  expect(await readFile(join(dataDir, stray), 'utf8'), 'a file that PostgreSQL did not make').toBe('mine')
  for (let starts = 0; starts < 2; starts += 1) {
    const service = await startServiceProcess({ dataDir, port: await findFreePort() })
    await stop(service)
  }
  const { payoutFreeze } = await read<{ payoutFreeze: { reason: string } }>(dataDir, ['ledger', 'verify'])
  const reason = `The backup of ${startedAt} was restored.`
  expect(payoutFreeze.reason).toBe(`Ana said so. ${reason}`)
  expect(await read(dataDir, ['audit', 'list'])).toMatchObject([
    { action: 'payouts.freeze', details: { reason: 'Ana said so.' } },
    { action: 'payouts.freeze', actor: 'cli:ana', details: { reason } },
  ])
  // Kept: a service may already have run on it.
  expect(await discardRestored({ dataDir, log: pino({ level: 'silent' }) })).toMatchObject({ isKept: true })
  expect(await readdir(dataDir)).toContain('postgres')
})

it('two backups under one name at once leave one complete file', async () => {
  const original = await newDataDir()
  await copyMigrated(original)
  const server = await startEmbeddedPostgres({ dataDir: original, log: pino({ level: 'silent' }) })
  cleanups.push(server.stop)
  const folder = await newDataDir()
  const file = join(folder, 'guiche.tar.gz')
  const backup = { connectionString: server.connectionString, file, guiche: 'test', now: new Date() }
  const outcomes = await Promise.allSettled([writeBackup(backup), writeBackup(backup)])
  expect(outcomes).toContainEqual({ status: 'fulfilled', value: { bytes: expect.any(Number) } })
  for (const outcome of outcomes)
    if (outcome.status === 'rejected') expect(outcome.reason).toEqual(new Error(`${file} exists: choose another name.`))
  expect(await readdir(folder)).toEqual(['guiche.tar.gz'])
  expect(await guiche(await newDataDir(), ['restore', file])).toMatchObject({ code: 0, stderr: '' })
})

it('backup and restore refuse an existing file or database, an incomplete file and another server', async () => {
  const original = await newDataDir()
  await copyMigrated(original)
  const file = join(original, 'guiche.tar.gz')
  expect(await guiche(original, ['backup', file])).toMatchObject({ code: 0 })
  expect(await guiche(original, ['backup', file])).toMatchObject({
    code: 1,
    stderr: `guiche: ${file} exists: choose another name.\n`,
  })
  expect(await guiche(original, ['restore', file])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('has a database: move it to another place, or choose another DATA_DIR.'),
  })
  const empty = await newDataDir()
  expect(await guiche(empty, ['backup', join(original, 'none.tar.gz')])).toMatchObject({
    code: 1,
    stderr: `guiche: ${empty} has no database: set DATA_DIR to that of the service.\n`,
  })
  const cut = join(original, 'cut.tar.gz')
  const bytes = await readFile(file)
  await writeFile(cut, bytes.subarray(0, bytes.length - 1000))
  for (const path of [cut, join(original, 'postgres.log')])
    expect(await guiche(empty, ['restore', path])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`${path} is not a complete backup of Guichê`),
    })
  expect((await readdir(empty)).filter((name) => name.startsWith('postgres'))).toEqual(['postgres.lock'])
  for (const command of ['backup', 'restore'])
    expect(await guiche(empty, [command, file], { DATABASE_URL: 'postgres://a@127.0.0.1/b' })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('back up and restore your own PostgreSQL with its tools'),
    })
})

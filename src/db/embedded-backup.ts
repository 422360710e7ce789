import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createReadStream, createWriteStream, existsSync } from 'node:fs'
import { mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import type { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import pg from 'pg'
import tar from 'tar-stream'
import { asAdministrator, lockPlace } from './embedded.ts'
import { findBinaries, findLauncher, run, type User } from './embedded-launcher.ts'
import {
  makePlace,
  makePrivate,
  newFolder,
  putInPlace,
  type Restored,
  removeUnfinished,
  restoredFile,
  syncFolder,
} from './embedded-place.ts'
import { hasCode } from './embedded-process.ts'
import type { Log } from './embedded-server.ts'
import { type Db, sql } from './sql.ts'

/** The first entry of a backup: where it comes from. */
export type BackupManifest = { format: 1; guiche: string; postgres: string; startedAt: string }

const manifestName = 'guiche-backup.json'
/** PostgreSQL needs it to start from a backup. It is the last entry, so an archive that has it is complete. */
const labelName = 'backup_label'
const controlFile = 'global/pg_control'

/**
 * What a backup leaves out, as `pg_basebackup` does: what belongs to the running server, and what PostgreSQL builds
 * again at its start. Of the folders with `\/.+` only the content is left out: PostgreSQL needs them, empty.
 */
const omitted =
  /^(?:postmaster\.(?:pid|opts)|backup_label(?:\.old)?|tablespace_map|(?:pg_wal|pg_replslot|pg_dynshmem|pg_notify|pg_serial|pg_snapshots|pg_stat_tmp|pg_subtrans)\/.+)$|(?:^|\/)(?:pgsql_tmp|pg_internal\.init)/

/**
 * Copies the database of a running embedded PostgreSQL into one compressed file, readable by this user only. The
 * service keeps running: PostgreSQL's write-ahead log of the time of the copy is part of the file. The file gets its
 * name when it is complete and on disk.
 *
 * @throws {Error} if the file exists, or PostgreSQL refuses the backup
 */
export async function writeBackup({
  connectionString,
  file,
  guiche,
  now,
}: {
  connectionString: string
  file: string
  guiche: string
  now: Date
}): Promise<{ bytes: number }> {
  assertFree(file)
  const client = new pg.Client({ connectionString: asAdministrator(connectionString) })
  client.on('error', () => {})
  await client.connect()
  // Another backup may be made under the same name at the same time.
  const id = randomUUID()
  const partial = `${file}.${id}.part`
  try {
    const pack = tar.pack()
    const output = createWriteStream(partial, { mode: 0o600, flush: true })
    const filled = fill(pack, client, { id, guiche, now }).catch((error: unknown) => {
      pack.destroy(error instanceof Error ? error : new Error(String(error)))
      throw error
    })
    await Promise.all([filled, pipeline(pack, createGzip({ level: 1 }), output)])
    assertFree(file)
    await rename(partial, file)
    syncFolder(dirname(file))
    return { bytes: output.bytesWritten }
  } catch (error) {
    await rm(partial, { force: true })
    throw error
  } finally {
    // With the session, PostgreSQL also ends a backup that failed, and drops the slot.
    await client.end()
  }
}

function assertFree(file: string): void {
  if (existsSync(file)) throw new Error(`${file} exists: choose another name.`)
}

async function fill(
  pack: tar.Pack,
  client: pg.Client,
  { id, guiche, now }: { id: string; guiche: string; now: Date },
): Promise<void> {
  // A slot keeps the write-ahead log of the time of the copy. A temporary one ends with its session.
  await client.query('select pg_create_physical_replication_slot($1, true, true)', [
    `guiche_backup_${id.replaceAll('-', '_')}`,
  ])
  const {
    rows: [start],
  } = await client.query<{ segment: string; folder: string; postgres: string }>(`
    select pg_walfile_name(pg_backup_start('guiche', true)) as segment, current_setting('data_directory') as folder,
      current_setting('server_version') as postgres`)
  if (!start) throw new Error('PostgreSQL did not begin the backup.')
  const manifest: BackupManifest = { format: 1, guiche, postgres: start.postgres, startedAt: now.toISOString() }
  await addText(pack, manifestName, `${JSON.stringify(manifest)}\n`)
  if ((await readdir(join(start.folder, 'pg_tblspc'))).length > 0)
    throw new Error('The database has tablespaces, which this backup does not contain: use pg_basebackup.')
  for await (const path of walk(start.folder)) if (path !== controlFile) await addPath(pack, start.folder, path)
  await addPath(pack, start.folder, controlFile)
  const {
    rows: [end],
  } = await client.query<{ segment: string; label: string }>(
    'select pg_walfile_name(lsn) as segment, labelfile as label from pg_backup_stop(false)',
  )
  if (!end) throw new Error('PostgreSQL did not end the backup.')
  const segments = (await readdir(join(start.folder, 'pg_wal'))).filter(
    (name) => /^[0-9A-F]{24}$/.test(name) && name >= start.segment && name <= end.segment,
  )
  if (!segments.includes(start.segment) || !segments.includes(end.segment))
    throw new Error('The write-ahead log of the backup is incomplete: try again.')
  for (const segment of segments.sort()) await addPath(pack, start.folder, `pg_wal/${segment}`)
  await addText(pack, labelName, end.label)
  pack.finalize()
}

/** Folders (with a slash at the end) before their content, in relative paths. */
async function* walk(root: string, folder = ''): AsyncGenerator<string> {
  for (const entry of await readdir(join(root, folder), { withFileTypes: true })) {
    const path = `${folder}${entry.name}`
    if (omitted.test(path)) continue
    if (entry.isFile()) yield path
    if (!entry.isDirectory()) continue
    yield `${path}/`
    yield* walk(root, `${path}/`)
  }
}

async function addText(pack: tar.Pack, name: string, text: string): Promise<void> {
  await new Promise<void>((done, fail) => {
    pack.entry({ name }, text, (error) => (error ? fail(error) : done()))
  })
}

/**
 * Adds a folder or a file. A file that changes meanwhile is added with the size that it had: the write-ahead log of the
 * backup has the rest. A file that is removed meanwhile is left out.
 */
async function addPath(pack: tar.Pack, root: string, path: string): Promise<void> {
  if (path.endsWith('/')) {
    pack.entry({ name: path, type: 'directory' })
    return
  }
  const source = await open(join(root, path)).catch((error: unknown) => {
    if (hasCode(error, 'ENOENT')) return null
    throw error
  })
  if (source === null) return
  try {
    const { size } = await source.stat()
    await new Promise<void>((done, fail) => {
      const entry = pack.entry({ name: path, size }, (error) => (error ? fail(error) : done()))
      copy(source, entry, size).catch(fail)
    })
  } finally {
    await source.close()
  }
}

const chunkBytes = 1 << 20

async function copy(source: Awaited<ReturnType<typeof open>>, entry: Writable, size: number): Promise<void> {
  for (let left = size; left > 0; ) {
    const chunk = Buffer.alloc(Math.min(left, chunkBytes))
    // Where the file has become shorter meanwhile, the chunk keeps its zeros.
    await source.read(chunk)
    left -= chunk.length
    if (!entry.write(chunk)) await once(entry, 'drain')
  }
  entry.end()
}

/**
 * Makes a database folder from a backup. With `wal`, a folder of archived segments of the write-ahead log, PostgreSQL
 * continues at its next start with what was committed after the backup: up to `until`, or all of it. The first start of
 * a service freezes payouts.
 *
 * @throws {Error} if DATA_DIR has a database, the file is not a complete backup, or `wal` cannot be read, lacks
 * segments or has nothing after the backup
 */
export async function restoreBackup({
  dataDir,
  file,
  wal,
  until,
  by,
  log,
}: {
  dataDir: string
  file: string
  wal?: string | undefined
  until?: Date | undefined
  by: Restored['by']
  log: Log
}): Promise<BackupManifest> {
  const place = makePlace(dataDir)
  const lock = await lockPlace(place, { holder: 'command', log })
  const folder = newFolder(place)
  try {
    if (existsSync(place.folder))
      throw new Error(`${place.folder} has a database: move it to another place, or choose another DATA_DIR.`)
    removeUnfinished(place)
    makePrivate(folder, place.user)
    const manifest = await extract(file, folder)
    await stopArchiving(folder)
    if (wal !== undefined) await recoverFrom(folder, { wal: resolve(wal), until, user: place.user })
    const restored: Restored = { backupOf: manifest.startedAt, by }
    await writeFile(join(folder, restoredFile), JSON.stringify(restored), { mode: 0o600, flush: true })
    for await (const path of walk(folder)) if (path.endsWith('/')) syncFolder(join(folder, path))
    syncFolder(folder)
    putInPlace(folder, place)
    return manifest
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    throw error
  } finally {
    lock.release()
  }
}

async function extract(file: string, folder: string): Promise<BackupManifest> {
  const archive = tar.extract()
  const read = pipeline(createReadStream(file), createGunzip(), archive)
  const unpacked = unpack(archive, folder)
  const [outcome] = await Promise.allSettled([unpacked, read])
  if (outcome.status === 'fulfilled' && outcome.value !== null) return outcome.value
  const reason = outcome.status === 'rejected' ? `: ${(outcome.reason as Error).message}` : ''
  throw new Error(`${file} is not a complete backup of Guichê${reason}.`)
}

/** Null if the archive is empty or lacks its last entry. */
async function unpack(archive: tar.Extract, folder: string): Promise<BackupManifest | null> {
  let manifest: BackupManifest | null = null
  let isComplete = false
  for await (const entry of archive) {
    const { name, type } = entry.header
    if (name === manifestName) {
      manifest = JSON.parse(await textOf(entry))
      continue
    }
    // A name may have any characters: the database's folder may have files that PostgreSQL did not make.
    if (manifest?.format !== 1 || name.startsWith('/') || name.split('/').includes('..'))
      throw new Error(`it has ${name}`)
    if (type === 'directory') {
      await mkdir(join(folder, name), { mode: 0o700 })
      entry.resume()
    } else await pipeline(entry, createWriteStream(join(folder, name), { mode: 0o600, flush: true }))
    isComplete = name === labelName
  }
  return isComplete ? manifest : null
}

async function textOf(entry: AsyncIterable<Buffer>): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of entry) parts.push(part)
  return Buffer.concat(parts).toString('utf8')
}

/**
 * A backup contains the settings of its original database, the archive command too. If the restored database wrote its
 * own write-ahead log into the same archive, the next restore would follow that log instead of the original's.
 */
async function stopArchiving(folder: string): Promise<void> {
  await addSettings(folder, { archive_mode: 'off' })
}

async function recoverFrom(
  folder: string,
  { wal, until, user }: { wal: string; until: Date | undefined; user: User | null },
): Promise<void> {
  // The shell or PostgreSQL would replace these in the command below, which would then find nothing in the archive.
  if (/["'`$\\%\n]/.test(wal))
    throw new Error(`${wal} has a quote, a backtick, a backslash, a percent sign or a dollar sign: use another folder.`)
  // With `until`, PostgreSQL itself refuses an archive that does not reach that far.
  await checkArchive(folder, { wal, user, mustBeWhole: until === undefined })
  await writeFile(join(folder, 'recovery.signal'), '', { flush: true })
  await addSettings(folder, {
    restore_command: `cp "${wal}/%f" "%p"`,
    recovery_target_time: until?.toISOString().replace('T', ' ').replace('Z', '+00') ?? '',
    recovery_target_action: 'promote',
  })
}

/**
 * To PostgreSQL, a segment that it cannot read or that is missing is the end of the archive: it would continue without
 * the rest.
 */
async function checkArchive(
  folder: string,
  { wal, user, mustBeWhole }: { wal: string; user: User | null; mustBeWhole: boolean },
): Promise<void> {
  const launcher = await findLauncher({ binaries: findBinaries(), folder, user })
  const listed = await run(launcher, '/bin/sh', ['-c', listReadable, wal])
  const who = user === null ? '' : ` by user id ${user.uid}, which PostgreSQL runs as here`
  if (listed.code !== 0 || listed.stderr !== '')
    throw new Error(`${wal} cannot be read${who}: ${listed.stderr.trim().split('\n', 1)[0]}`)
  const isSegment = (name: string) => /^[0-9A-F]{24}$/.test(name)
  const last = (await readdir(join(folder, 'pg_wal'))).filter(isSegment).sort().at(-1) ?? ''
  const later = listed.stdout.split('\n').filter((name) => isSegment(name) && name > last)
  if (later.length === 0)
    throw new Error(`${wal} has nothing after the backup, whose last segment is ${last}: restore it without --wal.`)
  const { size } = await stat(join(folder, 'pg_wal', last))
  const missing = findMissing(later, { last, size })
  if (mustBeWhole && missing !== null)
    throw new Error(
      `${wal} lacks ${missing} and has later segments, which cannot be read without it: find it, or restore with --until up to a time before it.`,
    )
}

/**
 * The first segment after `last` that is not in the archive although a later one is. Each timeline continues the
 * numbers.
 */
function findMissing(later: string[], { last, size }: { last: string; size: number }): string | null {
  // Of the 24 digits of a name, 8 are the timeline, 8 count 4 GB of the log each, and 8 count the segments in them.
  const perName = 2 ** 32 / size
  const positionOf = (name: string) => parseInt(name.slice(8, 16), 16) * perName + parseInt(name.slice(16), 16)
  const first = positionOf(last) + 1
  const positions = [...new Set(later.map(positionOf))]
    .filter((position) => position >= first)
    .sort((one, other) => one - other)
  const index = positions.findIndex((position, index) => position !== first + index)
  if (index === -1) return null
  const toHex = (part: number) => part.toString(16).toUpperCase().padStart(8, '0')
  const missing = first + index
  return last.slice(0, 8) + toHex(Math.floor(missing / perName)) + toHex(missing % perName)
}

/** A shell script that lists the segments and the timeline history files, and reports those that it may not read. */
const listReadable =
  'cd "$0" && for name in ???????????????????????? *.history; do test -r "$name" || test ! -e "$name" || echo "no permission for $name" >&2; echo "$name"; done'

async function addSettings(folder: string, settings: Record<string, string>): Promise<void> {
  const lines = Object.entries(settings).map(([name, value]) => `${name} = '${value}'\n`)
  await writeFile(join(folder, 'postgresql.auto.conf'), lines.join(''), { flag: 'a', flush: true })
}

/** When the last commit was made that PostgreSQL has read from the archive; null if it has read none. */
export async function findRecoveredUntil(db: Db): Promise<Date | null> {
  const [row] = await db.query<{ at: Date | null }>(sql`select pg_last_xact_replay_timestamp() as at`)
  return row?.at ?? null
}

/**
 * Removes the database of a restore that PostgreSQL could not complete, so that it can be repeated. One whose payouts
 * were frozen is kept: a service may have served it.
 *
 * @returns whether it was kept, and the end of PostgreSQL's log, which has the reason
 */
export async function discardRestored({
  dataDir,
  log,
}: {
  dataDir: string
  log: Log
}): Promise<{ isKept: boolean; logEnd: string }> {
  const place = makePlace(dataDir)
  const lock = await lockPlace(place, { holder: 'command', log })
  try {
    if (existsSync(join(place.folder, restoredFile))) {
      await rename(place.folder, newFolder(place))
      removeUnfinished(place)
    }
    const logEnd = (await readFile(place.logFile, 'utf8')).trim().slice(-logEndMax)
    return { isKept: existsSync(place.folder), logEnd }
  } finally {
    lock.release()
  }
}

const logEndMax = 2_000

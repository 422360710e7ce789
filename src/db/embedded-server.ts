import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, existsSync, lchownSync, openSync, readdirSync, readFileSync, renameSync, statSync } from 'node:fs'
import { totalmem } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import type { BaseLogger } from 'pino'
import { findBinaries, findLauncher, type Launcher, otherWaysToRun, run, toCommand } from './embedded-launcher.ts'
import { makePrivate, newFolder, nobody, type Place, putInPlace, removeUnfinished } from './embedded-place.ts'
import { endPostmaster, findPostmaster, neutralizePidFile, pollEveryMs } from './embedded-process.ts'

export type Log = Pick<BaseLogger, 'info' | 'warn' | 'error'>

export type Server = {
  socketFolder: string
  /** Resolves when the server has ended, for whatever reason. */
  ended: Promise<void>
  stop(): Promise<void>
}

/** Starts a server on a folder that has no running one, and creates the folder if it does not exist. */
export async function startServer(place: Place, log: Log): Promise<Server> {
  const binaries = findBinaries()
  if (!existsSync(`${place.folder}/PG_VERSION`)) {
    log.info('creating the database (first start only)')
    await initialize(place, binaries)
  }
  const launcher = await findLauncher({ binaries, folder: place.folder, user: place.user })
  checkVersion(place.folder, launcher.version)
  const giveUpAt = Date.now() + leftoversMaxMs
  for (;;) {
    neutralizePidFile(place.folder, place.socketFolder)
    const started = await launch(place, launcher, log)
    if (!('failure' in started)) return started
    // The backends of a postmaster that was killed end on their own shortly after.
    const hasLeftovers = started.failure.includes('pre-existing shared memory block')
    if (!hasLeftovers || Date.now() > giveUpAt) throw new Error(`PostgreSQL did not start: ${started.failure}`)
    await sleep(50)
  }
}

const leftoversMaxMs = 30_000

/**
 * Creates the database in a temporary folder and renames it when complete, so that a kill in between leaves no
 * incomplete database.
 */
async function initialize(place: Place, binaries: string): Promise<void> {
  if (existsSync(place.folder) && readdirSync(place.folder).length > 0) {
    throw new Error(`${place.folder} is neither empty nor a database of PostgreSQL: choose another DATA_DIR.`)
  }
  removeUnfinished(place)
  const folder = newFolder(place)
  // initdb runs only as a user that the system knows. As root we run it as nobody: the id of place.user may be derived
  // from a path. The finished folder is then given to place.user.
  const maker = place.user && nobody
  makePrivate(folder, maker)
  const launcher = await findLauncher({ binaries, folder, user: maker })
  const made = await run(launcher, launcher.initdb, [...initdbArgs(), '-D', folder])
  if (made.code !== 0) throw new Error(`PostgreSQL could not make its folder: ${made.stderr.trim()} ${otherWaysToRun}`)
  putInPlace(folder, place)
}

// Settings that an operator may change are in postgresql.conf, so they are written once here and not at each start.
// The log may say that something went wrong, but never the values of a row (no details, no statements).
// A commit that starts a new WAL segment waits until it is filled with zeros: 50 ms for the usual 16 MB, so that one
// request in a hundred that creates a payment transaction took four times the median; 12 ms for 4 MB.
// After a checkpoint, each page that is changed again goes into the WAL as a whole. initdb derives the WAL limits from
// the segment size: for 4 MB, a max_wal_size of 256 MB. With that, at 1,000 created transactions per second, a
// checkpoint comes every twenty seconds, and the pages double the WAL. With three million transactions and the settings
// below, a checkpoint comes every 10 to 15 minutes, and the WAL is doubled only for the 20 s after it.
// Linux keeps the pages that PostgreSQL evicts for 30 s and then writes 200 to 300 MB at once; commits wait behind it,
// for two seconds at worst at 1,000 created transactions and 100 payments per second. A flush after each 512 kB spreads
// the writes, at the cost of more writes in total.
// Autovacuum takes a third of a core while it works; on two busy cores, every request in those seconds takes 100 ms
// longer. So it works at a quarter of the speed, and longer.
const initdbArgs = () =>
  [
    ...['--username=postgres', '--auth=trust', '--encoding=UTF8'],
    ...['--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--no-instructions'],
    '--wal-segsize=4',
    ...['min_wal_size=80MB', 'max_wal_size=8GB', 'checkpoint_timeout=15min'],
    ...[`shared_buffers=${buffersOf(memoryBytes())}MB`, 'backend_flush_after=512kB', 'random_page_cost=1.1'],
    ...['max_connections=100', 'timezone=UTC', 'autovacuum_vacuum_cost_delay=8ms'],
    ...['log_min_messages=log', 'log_error_verbosity=terse', 'log_min_error_statement=panic', 'log_checkpoints=off'],
  ].map((argument) => (argument.startsWith('--') ? argument : `--set=${argument}`))

const buffersMinMb = 128
const buffersMaxMb = 2048

/**
 * shared_buffers in MB: an eighth of the memory, from 128 MB to 2 GB. The ids of payment transactions are random UUIDs,
 * so each new one touches a dozen index pages anywhere. If the indexes no longer fit (three million transactions in
 * 128 MB), 1,000 created transactions per second read 14,000 pages per second and are too slow. Buffers that are never
 * used still take a fortieth of their size in memory.
 */
export function buffersOf(bytes: number): number {
  return Math.max(buffersMinMb, Math.min(buffersMaxMb, Math.floor(bytes / 8 / 2 ** 20)))
}

/** The memory of the machine, or of the container if that is less. */
function memoryBytes(): number {
  // constrainedMemory() is 0 if it finds no limit, and a number beyond all memory if the container has none.
  return Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY)
}

function checkVersion(folder: string, version: string): void {
  const made = readFileSync(`${folder}/PG_VERSION`, 'utf8').trim()
  const major = version.split('.')[0]
  if (made === major) return
  throw new Error(
    `${folder} was made by PostgreSQL ${made}, and this Guichê ships with ${major}. Start it with a Guichê that ships with PostgreSQL ${made}, dump it with a pg_dump of your own, and restore the dump into a new DATA_DIR.`,
  )
}

async function launch(place: Place, launcher: Launcher, log: Log): Promise<Server | { failure: string }> {
  const logFd = openLog(place)
  const logStart = statSync(place.logFile).size
  const { command, args, options } = toCommand(launcher, launcher.postgres, [
    ...['-D', place.folder, '-c', 'listen_addresses=', '-c', `unix_socket_directories=${place.socketFolder}`],
    ...['-c', 'port=5432', '-c', 'logging_collector=off', '-c', 'log_destination=stderr'],
  ])
  // A separate session: Ctrl-C in a terminal reaches only us, and we stop PostgreSQL last.
  const child = spawn(command, args, { ...options, detached: true, stdio: ['ignore', logFd, logFd] })
  closeSync(logFd)
  await spawned(child)
  const pid = child.pid ?? 0
  while (child.exitCode === null && child.signalCode === null) {
    const postmaster = findPostmaster(place.folder)
    if (postmaster?.pid === pid && postmaster.state === 'ready') return toServer(place, child, pid, log)
    await sleep(pollEveryMs)
  }
  return { failure: readFileSync(place.logFile).subarray(logStart).toString('utf8').trim().slice(-2000) }
}

function spawned(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once('spawn', resolve)
    child.once('error', reject)
  })
}

function toServer(place: Place, child: ChildProcess, pid: number, log: Log): Server {
  let stopping = false
  const ended = new Promise<void>((resolve) => {
    child.once('exit', (code, signal) => {
      if (!stopping) log.error({ code, signal }, 'PostgreSQL ended unexpectedly: see postgres.log in DATA_DIR')
      resolve()
    })
  })
  // The database must not keep a finished program alive.
  child.unref()
  return {
    socketFolder: place.socketFolder,
    ended,
    stop: async () => {
      stopping = true
      await endPostmaster(pid, place.folder)
    },
  }
}

const logBytesMax = 10_000_000

/** A file and not a pipe to us: a server that outlives us can still write to it. */
function openLog({ logFile, user }: Place): number {
  if (existsSync(logFile) && statSync(logFile).size > logBytesMax) renameSync(logFile, `${logFile}.1`)
  const fd = openSync(logFile, 'a', 0o600)
  // Root may start this once on the folder of an ordinary user, who must be able to continue afterwards. That user may
  // have put a link there: its target must not be given away.
  if (user !== null) lchownSync(logFile, user.uid, user.gid)
  return fd
}

import { createHash, randomUUID } from 'node:crypto'
import {
  chownSync,
  closeSync,
  existsSync,
  fsyncSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { basename, resolve } from 'node:path'
import { otherWaysToRun, type User } from './embedded-launcher.ts'
import { hasCode } from './embedded-process.ts'

/** A database's folder, socket and log, and the user that PostgreSQL runs as when we are root. */
export type Place = { dataDir: string; folder: string; socketFolder: string; logFile: string; user: User | null }

export function makePlace(dataDir: string): Place {
  if (process.platform === 'win32')
    throw new Error('The embedded PostgreSQL does not run on Windows: run Guichê in WSL 2 or as a container.')
  const isRoot = process.getuid?.() === 0
  // As root: PostgreSQL runs as another user, which may enter the folder but not list it.
  mkdirSync(dataDir, { recursive: true, mode: isRoot ? 0o711 : 0o700 })
  const real = realpathSync(resolve(dataDir))
  const folder = `${real}/postgres`
  const user = isRoot ? ownerOf(real, folder) : null
  if (!isRoot) assertOwnFolder(folder)
  return { dataDir: real, folder, socketFolder: makeSocketFolder(real, user), logFile: `${real}/postgres.log`, user }
}

/** The id of `nobody` on nearly all systems. As root we run initdb as this user: it refuses one that is not known. */
export const nobody: User = { uid: 65534, gid: 65534 }

/** Debian gives these user ids to no package, only to ordinary accounts, and few machines have so many of those. */
const derivedUserIds = { first: 50_000, count: 10_000 }

/**
 * When we run as root, a folder made by an ordinary user keeps its owner, and so does a DATA_DIR in which there is none
 * yet: the service may run as that user. Any other gets a user id derived from the path of DATA_DIR: PostgreSQL trusts
 * its own user, and other daemons that run as `nobody` must not be that user.
 */
function ownerOf(dataDir: string, folder: string): User {
  const owner = statSync(existsSync(folder) ? folder : dataDir)
  if (owner.uid !== 0 && owner.uid !== nobody.uid) return { uid: owner.uid, gid: owner.gid }
  const userId =
    derivedUserIds.first + (createHash('sha256').update(dataDir).digest().readUInt32BE() % derivedUserIds.count)
  return { uid: userId, gid: userId }
}

/**
 * The temporary folder of a database that is being made. Its name is new each time: a killed initdb may still write.
 */
export function newFolder({ folder }: Place): string {
  return `${folder}.new-${randomUUID()}`
}

/** Removes what was left by those who were killed while they made or removed a database. */
export function removeUnfinished({ dataDir, folder }: Place): void {
  for (const name of readdirSync(dataDir))
    if (name.startsWith(`${basename(folder)}.new-`)) rmSync(`${dataDir}/${name}`, { recursive: true, force: true })
}

/**
 * Renames a finished folder to the name of the database. Its files must already be flushed to disk, so that after a
 * power failure the database is complete or absent.
 */
export function putInPlace(folder: string, place: Place): void {
  if (place.user !== null) changeOwner(folder, place.user)
  renameSync(folder, place.folder)
  syncFolder(place.dataDir)
}

/**
 * Marks a restored database until payouts are frozen. If the restoring command ends before that, the next start finds
 * the file, and freezes payouts before it serves anything.
 */
export const restoredFile = 'guiche-restored.json'

/** `backupOf`: when the backup was made. */
export type Restored = { backupOf: string; by: { actor: string; login?: string } }

/** Writes a folder's list of files to disk, not their content. */
export function syncFolder(path: string): void {
  const folder = openSync(path, 'r')
  fsyncSync(folder)
  closeSync(folder)
}

/** Changes the owner of a folder and everything in it. Links themselves are changed, not their targets. */
function changeOwner(path: string, user: User): void {
  if (lstatSync(path).isDirectory()) for (const name of readdirSync(path)) changeOwner(`${path}/${name}`, user)
  lchownSync(path, user.uid, user.gid)
}

function assertOwnFolder(folder: string): void {
  if (!existsSync(folder) || statSync(folder).uid === process.getuid?.()) return
  throw new Error(
    `${folder} belongs to user id ${statSync(folder).uid}: run Guichê as that user, or choose another DATA_DIR.`,
  )
}

/** The path of a Unix socket has at most 107 bytes (macOS: 103); `/.s.PGSQL.5432` takes 14 of them. */
const socketFolderBytesMax = 80

/** If DATA_DIR is too long for a socket in it, the socket goes into a folder under /tmp that is named after it. */
function makeSocketFolder(dataDir: string, user: User | null): string {
  const near = `${dataDir}/run`
  const uid = user?.uid ?? process.getuid?.() ?? 0
  const name = createHash('sha256').update(dataDir).digest('hex').slice(0, 16)
  const folder = Buffer.byteLength(near) <= socketFolderBytesMax ? near : `/tmp/guiche-${uid}-${name}`
  makePrivate(folder, user)
  return folder
}

/** Creates a folder that only this user can access. Accepts an existing one only if nobody else can access it. */
export function makePrivate(folder: string, user: User | null): void {
  try {
    mkdirSync(folder, { mode: 0o700 })
    if (user !== null) chownSync(folder, user.uid, user.gid)
  } catch (error) {
    if (!hasCode(error, 'EEXIST'))
      throw new Error(`${folder} cannot be made for PostgreSQL. ${otherWaysToRun}`, { cause: error })
  }
  const made = lstatSync(folder)
  // Root may have been killed between creating the folder and changing its owner.
  if (user !== null && made.uid === 0 && made.isDirectory()) chownSync(folder, user.uid, user.gid)
  const trusted = [user?.uid ?? process.getuid?.(), 0].includes(made.uid)
  if (made.isDirectory() && trusted && (made.mode & 0o077) === 0) return
  throw new Error(`${folder} is not a private folder of the user PostgreSQL runs as: remove it and start again.`)
}

import { userInfo } from 'node:os'
import type { Command } from 'commander'
import type { By } from '../audit/record.ts'
import { findCell } from '../auth/cell.ts'
import { loadSecretKey } from '../auth/secret-key.ts'
import { findSetting } from '../auth/store.ts'
import { baseUrlSetting, type Config, readConfig, toBaseUrl } from '../config.ts'
import { openDatabase } from '../database.ts'
import type { Db } from '../db/sql.ts'
import type { Cell } from '../lib/cell.ts'
import { type Clock, systemClock } from '../lib/clock.ts'
import type { SecretKey } from '../lib/secrets.ts'
import { createLog } from '../log.ts'

export type Context = {
  db: Db
  clock: Clock
  key: SecretKey
  cell: Cell | null
  /** The service's address: BASE_URL, else where it last ran, else the default of its PORT. */
  baseUrl: string
  /** AUTH_ISSUER is set: an external provider manages the clients' secrets. */
  hasProvider: boolean
  /** Does nothing: the service finds the events to deliver, and this process has no loop to wake. */
  wakeDeliveries: () => void
}

/**
 * Runs a command against the database of the running service, or starts the database for the duration of the command.
 */
export async function withContext<Result>(work: (context: Context) => Promise<Result>): Promise<Result> {
  return await withDatabase('check', async (db, config) => {
    const { key } = await loadSecretKey(db, config.secretKey)
    return await work({
      db,
      clock: systemClock,
      key,
      cell: await findCell(db),
      baseUrl: config.baseUrl ?? (await findSetting(db, baseUrlSetting)) ?? toBaseUrl(config),
      hasProvider: config.authIssuer !== null,
      wakeDeliveries: () => {},
    })
  })
}

/** Opens the database as {@link withContext} does, for commands that need nothing else. */
export async function withDatabase<Result>(
  schema: 'migrate' | 'check' | 'ignore',
  work: (db: Db, config: Config) => Promise<Result>,
): Promise<Result> {
  const config = readConfig(process.env)
  // Standard output is only for the command's result.
  const log = createLog({ ...config, logLevel: 'silent' })
  const database = await openDatabase({ config, log, role: 'tool', schema }).catch((error: unknown) => {
    throw config.databaseUrl === null ? error : explainUnreachable(error)
  })
  try {
    return await work(database.db, config)
  } finally {
    await database.close()
  }
}

/**
 * System errors such as ECONNREFUSED and EAI_AGAIN, and SQLSTATE 28P01, 28000 and 3D000: a wrong password, a wrong user
 * and a database that does not exist.
 */
const unreachable = /^(E[A-Z]+|EAI_[A-Z]+|28P01|28000|3D000)$/

/** Adds what to do about it. Node.js says only `connect ECONNREFUSED`, or nothing if a name has two addresses. */
function explainUnreachable(error: unknown): unknown {
  const { code, message } = error instanceof Error ? (error as NodeJS.ErrnoException) : {}
  if (code === undefined || !unreachable.test(code)) return error
  return new Error(
    `The database of DATABASE_URL cannot be used: ${message || code}. Check that it runs, and that address, user, password and database name are right.`,
    { cause: error },
  )
}

/** Who uses the command line, as the audit log names people. */
export function byOf(program: Command): By {
  const { as } = program.opts<{ as?: string }>()
  const login = userName()
  // If `--as` names another person, the operating system's user is recorded as well.
  return as === undefined ? { actor: `cli:${login}` } : { actor: `cli:${as}`, login }
}

/** The operating system's user. In a container the user may have a number but no name. */
function userName(): string {
  try {
    return userInfo().username
  } catch {
    return `uid-${process.getuid?.() ?? 'unknown'}`
  }
}

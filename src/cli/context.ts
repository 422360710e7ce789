import { loadSecretKey } from '../auth/secret-key.ts'
import { findSetting } from '../auth/store.ts'
import { baseUrlSetting, readConfig, toBaseUrl } from '../config.ts'
import { openDatabase } from '../database.ts'
import type { Db } from '../db/sql.ts'
import { type Clock, systemClock } from '../lib/clock.ts'
import type { SecretKey } from '../lib/secrets.ts'
import { createLog } from '../log.ts'

export type Context = {
  db: Db
  clock: Clock
  key: SecretKey
  /** Where the service is reached: as the configuration says, or where it last was. */
  baseUrl: string
  /** AUTH_ISSUER is set: clients' secrets are the provider's affair. */
  hasProvider: boolean
}

/** Runs a command against the database: that of the running service, or one that is started for the moment. */
export async function withContext<Result>(work: (context: Context) => Promise<Result>): Promise<Result> {
  const config = readConfig(process.env)
  // Standard output belongs to the command's answer.
  const log = createLog({ ...config, logLevel: 'silent' })
  const database = await openDatabase({ config, log, role: 'tool' }).catch((error: unknown) => {
    throw config.databaseUrl === null ? error : explainUnreachable(error)
  })
  try {
    const { key } = await loadSecretKey(database.db, config.secretKey)
    return await work({
      db: database.db,
      clock: systemClock,
      key,
      baseUrl: config.baseUrl ?? (await findSetting(database.db, baseUrlSetting)) ?? toBaseUrl(config),
      hasProvider: config.authIssuer !== null,
    })
  } finally {
    await database.close()
  }
}

/** PostgreSQL's own words for it: SQLSTATE 28P01, 28000 and 3D000 are a wrong password, a wrong user and a database that is not there. */
const unreachable = /^(E[A-Z]+|28P01|28000|3D000)$/

/** The cause with what to do about it: Node.js says only `connect ECONNREFUSED`, or nothing when a name has two addresses. */
function explainUnreachable(error: unknown): unknown {
  const { code, message } = error instanceof Error ? (error as NodeJS.ErrnoException) : {}
  if (code === undefined || !unreachable.test(code)) return error
  return new Error(
    `The database of DATABASE_URL cannot be used: ${message || code}. Does it run, and are address, user, password and database name right?`,
    { cause: error },
  )
}

import { loadSecretKey } from '../auth/secret-key.ts'
import { readConfig } from '../config.ts'
import { openDatabase } from '../database.ts'
import type { Db } from '../db/sql.ts'
import { type Clock, systemClock } from '../lib/clock.ts'
import type { SecretKey } from '../lib/secrets.ts'
import { createLog } from '../log.ts'

export type Context = { db: Db; clock: Clock; key: SecretKey }

/** Runs a command against the database: that of the running service, or one that is started for the moment. */
export async function withContext<Result>(work: (context: Context) => Promise<Result>): Promise<Result> {
  const config = readConfig(process.env)
  // Standard output belongs to the command's answer.
  const database = await openDatabase({ config, log: createLog({ ...config, logLevel: 'silent' }), isTool: true })
  try {
    const { key } = await loadSecretKey(database.db, config.secretKey)
    return await work({ db: database.db, clock: systemClock, key })
  } finally {
    await database.close()
  }
}

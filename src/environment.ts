import { findSetting, insertSetting } from './auth/store.ts'
import { isLoopback } from './config.ts'
import type { Db, Tx } from './db/sql.ts'

/**
 * What kind of money a database has: `simulated` (the built-in network, SIMULATOR_URL, or a PSP simulator on this
 * machine), `sandbox` (a PSP's own test environment) or `production`. It never changes: a balance that was never real
 * must not be paid out as if it were.
 */
export type Environment = 'simulated' | 'sandbox' | 'production'

const setting = 'environment'

const titles: Record<Environment, string> = {
  simulated: 'a simulated Pix network',
  sandbox: "a PSP's sandbox",
  production: 'production',
}

/**
 * Stores the environment at the first start on a database, and compares it at each later start. Call it before any
 * request to an acquirer and any write.
 * @throws {Error} if the database belongs to another environment, with what to do about it
 */
export async function enterEnvironment(db: Db | Tx, environment: Environment): Promise<void> {
  await insertSetting(db, setting, environment)
  const known = (await findSetting(db, setting)) as Environment
  if (known === environment) return
  throw new Error(
    `This database belongs to ${titles[known]}, but the settings are for ${titles[environment]}. Its balances are ${
      known === 'production' ? 'real money' : 'not real money'
    }, so it cannot be used with other acquirers. ` +
      (environment === 'simulated'
        ? 'Set ACQUIRERS_FILE to the accounts that this database was used with, or set DATABASE_URL or DATA_DIR to another, empty database.'
        : `Set DATABASE_URL or DATA_DIR to another, empty database for ${titles[environment]}, or restore the settings for ${titles[known]}.`),
  )
}

/** The environment of one account of ACQUIRERS_FILE. A sandbox on this machine is a simulator. */
export function environmentOf(account: {
  environment: 'production' | 'sandbox'
  hosts: { baseUrl: string }
}): Environment {
  const { hostname } = new URL(account.hosts.baseUrl)
  const isThisMachine = isLoopback(hostname.replace(/^\[|\]$/g, ''))
  return account.environment === 'sandbox' && isThisMachine ? 'simulated' : account.environment
}

/**
 * The environment of all accounts of ACQUIRERS_FILE.
 * @throws {Error} if they differ
 */
export function commonEnvironment(
  accounts: readonly (Parameters<typeof environmentOf>[0] & { name: string })[],
): Environment {
  const found = accounts.map((account) => ({ name: account.name, environment: environmentOf(account) }))
  const [first, ...others] = [...new Set(found.map(({ environment }) => environment))]
  if (first !== undefined && others.length === 0) return first
  const list = found.map(({ name, environment }) => `${name} (${environment})`).join(', ')
  throw new Error(
    `ACQUIRERS_FILE has acquirers of several environments: ${list}. Their money must not be mixed: keep those of one environment, and use a separate file and database for the others.`,
  )
}

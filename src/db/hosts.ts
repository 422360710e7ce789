import { setTimeout as sleep } from 'node:timers/promises'
import { callbackify } from 'node:util'
import pg from 'pg'
import type { Servers, Target } from '../lib/database-url.ts'
import { DatabaseUnavailable } from './watched-pool.ts'

/** A server that does not answer within this time is skipped. */
const answerMaxMs = 1_000

/**
 * A client that connects to the first server that fits, unless there is only one and any fits. Each new connection
 * searches for it again, so the service follows a failover without a restart.
 */
export function clientFor({ connectionStrings, target }: Servers, setting: string): typeof pg.Client {
  const isSearched = connectionStrings.length > 1 || target !== 'any'
  let lookup: Promise<{ host: string; port: number }> | null = null
  const find = async () => {
    lookup ??= findServer({ connectionStrings, target }, setting).finally(() => {
      lookup = null
    })
    return await lookup
  }
  return class extends pg.Client {
    constructor(config?: pg.ClientConfig) {
      super({ ...config, connectionString: connectionStrings[0] })
    }

    override connect(): Promise<this>
    override connect(callback: (error: Error) => void): void
    override connect(callback?: (error: Error) => void): unknown {
      // The pool listens for errors only a moment after this has connected. Meanwhile the connection may end.
      this.on('error', () => {})
      const begin = async () => {
        if (isSearched) Object.assign(this, await find())
        await super.connect().catch((error: Error) => {
          // Node's error for a host with several addresses has no message and no system call.
          throw error instanceof AggregateError ? new DatabaseUnavailable(reasonOf(error), { cause: error }) : error
        })
      }
      return callback ? callbackify(begin)(callback) : begin()
    }
  }
}

function reasonOf(error: Error): string {
  return error instanceof AggregateError ? error.errors.map(reasonOf).join(', ') : error.message || error.name
}

/** Queries all at the same time. Of those that fit, the first in the order of the address is taken. */
async function findServer(
  { connectionStrings, target }: Servers,
  setting: string,
): Promise<{ host: string; port: number }> {
  const answers = connectionStrings.map(async (connectionString) => {
    const client = new pg.Client({ connectionString, connectionTimeoutMillis: answerMaxMs })
    client.on('error', () => {})
    const reason = await Promise.race([
      whyNot(client, target).catch(reasonOf),
      sleep(answerMaxMs, 'it does not answer', { ref: false }),
    ])
    client.end().catch(() => {})
    return { reason, host: client.host, port: client.port }
  })
  const reasons: string[] = []
  for (const answer of answers) {
    const { reason, host, port } = await answer
    if (reason === null) return { host, port }
    reasons.push(`${host}:${port}: ${reason}`)
  }
  throw new DatabaseUnavailable(`no server of ${setting} fits target_session_attrs=${target} (${reasons.join('; ')})`)
}

async function whyNot(client: pg.Client, target: Target): Promise<string | null> {
  await client.connect()
  if (target === 'any') return null
  const { rows } = await client.query<ServerState>(serverState)
  if (target === 'standby') return rows[0]?.is_in_recovery ? null : 'it is no standby'
  if (rows[0]?.is_in_recovery) return 'it is a standby'
  return target === 'read-write' && rows[0]?.is_read_only ? 'it takes no writes' : null
}

/** A standby is in recovery, and so is a server that replays its log after a crash or a restore. */
export type ServerState = { is_in_recovery: boolean; is_read_only: boolean }

export const serverState = `
  select pg_is_in_recovery() as is_in_recovery, current_setting('transaction_read_only')::boolean as is_read_only`

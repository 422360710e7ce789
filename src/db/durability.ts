import type { PoolClient } from 'pg'
import { type Db, isDatabaseUnavailable, sql } from './sql.ts'
import type { Client } from './watched-pool.ts'

type Settings = { fsync: string; full_page_writes: string; synchronous_commit: string; version: number }

/**
 * Refuses a PostgreSQL that may lose committed data. A payment that was answered 200 and is gone after a power cut
 * cannot be recovered, and tests that kill processes cannot detect this. Only the settings show it, as this connection
 * sees them.
 */
export async function checkDurability(db: Db): Promise<void> {
  const [settings] = await db.query<Settings>(sql`
    select
      current_setting('fsync') as fsync,
      current_setting('full_page_writes') as full_page_writes,
      current_setting('synchronous_commit') as synchronous_commit,
      current_setting('server_version_num')::integer as version`)
  const faults = settings === undefined ? ['it did not report its settings'] : findFaults(settings)
  if (faults.length > 0) throw new Error(`this PostgreSQL is not safe for payments: ${faults.join('; ')}.`)
}

/** Refuses to start with more connections than PostgreSQL allows: it would reject them under peak load. */
export async function checkConnections(
  db: Db,
  { processes, databaseConnectionsMax }: { processes: number; databaseConnectionsMax: number },
): Promise<void> {
  const [settings] = await db.query<{ takes: number }>(sql`
    select current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer
      -- Null before PostgreSQL 16.
      - coalesce(current_setting('reserved_connections', true)::integer, 0) as takes`)
  const wanted = processes * databaseConnectionsMax
  if (settings && wanted > settings.takes)
    throw new Error(
      `PostgreSQL takes ${settings.takes} connections and ${wanted} are configured: lower DATABASE_CONNECTIONS_MAX (${databaseConnectionsMax}, of each of ${processes} processes), or raise max_connections of PostgreSQL.`,
    )
}

/**
 * Refuses a pooler that gives each transaction another connection. The locks that show that a process is alive,
 * notifications, limits and prepared statements belong to a connection: with such a pooler all seems well until a
 * process dies, and then nobody may take over its work.
 */
export async function checkPooler({ pool }: Db): Promise<void> {
  const clients: PoolClient[] = []
  let isDirect = false
  try {
    const first = await pool.connect()
    clients.push(first)
    const own = await findBackend(first)
    // A server names its process when a connection begins. Behind a pooler it is another one.
    isDirect = own === (first as Client).processID
    if (isDirect) return
    while (clients.length < pool.options.max) {
      const other = await pool.connect()
      clients.push(other)
      // A transaction keeps its connection to the server. One of them gets that of `first`, unless it is reserved.
      await other.query('begin')
      if ((await findBackend(other)) === own || (await findBackend(first)) !== own) throw new Error(transactionMode)
    }
  } catch (error) {
    if (clients.length < 2 || !isDatabaseUnavailable(error)) throw error
    throw new Error(
      `DATABASE_URL leads to a pooler that gives this process fewer than ${pool.options.max} connections to PostgreSQL (DATABASE_CONNECTIONS_MAX). In PgBouncer, set default_pool_size to at least one more than that for each process.`,
      { cause: error },
    )
  } finally {
    // One in a transaction, or of a pooler, is not used again.
    for (const client of clients) client.release(!isDirect)
  }
}

const transactionMode =
  'DATABASE_URL leads to a pooler that gives each transaction another connection (PgBouncer: pool_mode = transaction). Guichê needs connections of its own. Set pool_mode = session for this database, or connect to PostgreSQL directly.'

async function findBackend(client: PoolClient): Promise<number | undefined> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  return rows[0]?.pid
}

function findFaults(settings: Settings): string[] {
  const faults: string[] = []
  if (settings.version < versionMin) faults.push(`version ${settings.version} is too old, use PostgreSQL 15 or later`)
  if (settings.fsync !== 'on') {
    faults.push("fsync is off, so a power cut can ruin the database: 'alter system set fsync = on', then reload")
  }
  if (settings.full_page_writes !== 'on') {
    faults.push(
      "full_page_writes is off, so a power cut can leave half-written pages: 'alter system set full_page_writes = on', then reload",
    )
  }
  // local, remote_write, remote_apply and on all wait for the local disk.
  if (settings.synchronous_commit === 'off') {
    faults.push(
      "synchronous_commit is off, so commits are answered before they are kept: set it to on in the server, and see that no 'alter role' or 'alter database' turns it off",
    )
  }
  return faults
}

const versionMin = 150_000

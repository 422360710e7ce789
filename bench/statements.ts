import { raw } from 'sql-template-tag'
import { connect, type Db } from '../src/db/sql.ts'
import type { Service } from './service.ts'

/** The figures of one statement since the last reset. */
export type StatementStats = { text: string; calls: number; rows: number; ms: number; walBytes: number }
/** The rows written to one table since the database was created, or between two readings. */
type TableStats = { inserted: number; updated: number; hot: number; deleted: number }

export type DatabaseWork = { statements: StatementStats[]; tables: [string, TableStats][] }

const library = 'pg_stat_statements'

/** PostgreSQL loads the library at its next start. */
export async function preloadStatements(service: Service): Promise<void> {
  await asSuperuser(service, async (db) => {
    await db.query(raw(`alter system set shared_preload_libraries = '${library}'`))
  })
}

/** Makes the library's figures readable for the service's role. To be called after that start. */
export async function openStatements(service: Service): Promise<void> {
  await asSuperuser(service, async (db) => {
    await db.query(raw(`create extension ${library}`))
    await db.query(raw('grant pg_read_all_stats to guiche'))
    await db.query(raw(`grant execute on function ${library}_reset to guiche`))
  })
}

/** The embedded PostgreSQL trusts every role that can reach its socket, which is in a folder of the user. */
async function asSuperuser({ connectionString }: Service, work: (db: Db) => Promise<void>): Promise<void> {
  const superuser = connectionString.replace('//guiche@', '//postgres@')
  const db = connect({ connectionString: superuser, connectionsMax: 1, onError: () => {} })
  try {
    await work(db)
  } finally {
    await db.pool.end()
  }
}

/** Begins a period. The result reads what PostgreSQL has done in it. */
export async function beginStatements({ db }: Service): Promise<() => Promise<DatabaseWork>> {
  const before = new Map(await readTables(db))
  await db.query(raw(`select ${library}_reset()`))
  return async () => {
    const statements = await db.query<StatementStats>(
      raw(`
        select query as text, sum(calls)::int as calls, sum(rows)::int as rows,
          sum(total_exec_time)::float8 as ms, sum(wal_bytes)::float8 as "walBytes"
        from ${library}
        where dbid = (select oid from pg_database where datname = current_database())
        group by query order by ms desc`),
    )
    const tables = (await readTables(db)).map(([table, after]): [string, TableStats] => {
      const first = before.get(table) ?? { inserted: 0, updated: 0, hot: 0, deleted: 0 }
      return [
        table,
        {
          inserted: after.inserted - first.inserted,
          updated: after.updated - first.updated,
          hot: after.hot - first.hot,
          deleted: after.deleted - first.deleted,
        },
      ]
    })
    return { statements, tables }
  }
}

async function readTables(db: Db): Promise<[string, TableStats][]> {
  const rows = await db.query<TableStats & { name: string }>(
    raw(`
      select schemaname || '.' || relname as name, n_tup_ins as inserted, n_tup_upd as updated,
        n_tup_hot_upd as hot, n_tup_del as deleted
      from pg_stat_user_tables`),
  )
  return rows.map(({ name, ...stats }) => [name, stats])
}

/**
 * Takes the texts of prepared statements by name. Returns a function for the texts of `pg_stat_statements`, in which
 * each constant is a parameter: it gives the statement's name, or else the beginning of the text.
 */
export function toStatementNames(texts: Map<string, string>): (text: string) => string {
  const names = new Map([...texts].map(([name, text]) => [withoutConstants(text), name]))
  return (text) => names.get(withoutConstants(text)) ?? `\`${shorten(text)}\``
}

function withoutConstants(text: string): string {
  return (
    text
      .replace(/'(?:[^']|'')*'|\$\d+|\b(?:\d+(?:\.\d+)?|true|false|null)\b/g, '?')
      // A list of constants is one parameter with a comment.
      .replace(/\?(?:\s*,\s*\?)+|\? \/\*, \.{3} \*\//g, '?')
      .replace(/\s+/g, ' ')
      .trim()
  )
}

const shownMax = 90

function shorten(text: string): string {
  const line = text.replace(/\s+/g, ' ').replaceAll('|', '¦').replaceAll('`', '').trim()
  return line.length > shownMax ? `${line.slice(0, shownMax)}…` : line
}

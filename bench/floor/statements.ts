import { randomUUID } from 'node:crypto'
import { type Db, raw } from '../../src/db/sql.ts'
import type { FloorJob } from './job.ts'

type Statement = FloorJob['statements'][number]

/** The rows that a create commits, of these tables and in this order. */
const tables = ['transactions', 'events', 'webhook_deliveries']

/**
 * What PostgreSQL has to do for a create, taken from one: its rows as they stand in the tables, inserted again and again under new
 * ids. Once as one data-modifying statement, once as BEGIN, an INSERT per row, and COMMIT.
 */
export async function readFloor(
  db: Db,
): Promise<{ oneStatement: Statement[]; beginCommit: Statement[]; fresh: string[]; rowBytes: number }> {
  const [newest] = await db.query<{ id: string }>(raw('select id from transactions order by created_at desc limit 1'))
  if (!newest) throw new Error('there is no transaction to take as an example')
  const inserts: { table: string; columns: string[]; values: (string | null)[] }[] = []
  const fresh = new Set([newest.id])
  // A text of a UUID's length, so that the idempotency key is another each time too.
  const key = randomUUID()
  fresh.add(key)
  for (const table of tables) {
    const attributes = await db.query<{ name: string }>(
      raw(`select attname as name from pg_attribute
        where attrelid = '${table}'::regclass and attnum > 0 and not attisdropped and attgenerated = '' order by attnum`),
    )
    const columns = attributes.map(({ name }) => name)
    const of = table === 'transactions' ? 'id' : 'record_id'
    const rows = await db.query<Record<string, string | null>>(
      raw(`select ${columns.map((name) => `${name}::text`).join(', ')} from ${table} where ${of} = '${newest.id}'`),
    )
    for (const row of rows) {
      if (row.idempotency_key) row.idempotency_key = key
      const own = row.event_id ?? (table === 'events' ? row.id : null)
      if (own) fresh.add(own)
      inserts.push({ table, columns, values: columns.map((name) => row[name] ?? null) })
    }
  }
  const texts = inserts.map(
    ({ table, columns }) =>
      (first: number) =>
        toInsert(table, columns, first),
  )
  const offsets = inserts.map((_, index) => inserts.slice(0, index).reduce((sum, { values }) => sum + values.length, 1))
  return {
    oneStatement: [
      {
        text: `with ${texts.map((text, index) => `i${index} as (${text(offsets[index] ?? 1)})`).join(', ')} select`,
        values: inserts.flatMap(({ values }) => values),
      },
    ],
    beginCommit: [
      { text: 'begin', values: [] },
      ...inserts.map(({ values }, index) => ({ text: texts[index]?.(1) ?? '', values })),
      { text: 'commit', values: [] },
    ],
    fresh: [...fresh],
    rowBytes: inserts[0]?.values.reduce((sum, value) => sum + Buffer.byteLength(value ?? ''), 0) ?? 0,
  }
}

/** Without casts: PostgreSQL takes each parameter for what its column is. */
function toInsert(table: string, columns: string[], first: number): string {
  return `insert into ${table} (${columns.join(', ')}) values (${columns.map((_, index) => `$${first + index}`).join(', ')})`
}

import { randomUUID } from 'node:crypto'
import { type Db, raw } from '../../src/db/sql.ts'
import type { BaselineExample, BaselineJob } from './job.ts'

type Statements = Pick<BaselineJob, 'statements' | 'examples'>

/** The rows that a create commits, by table, in this order. */
const tables = ['transactions', 'events', 'webhook_deliveries']

/** A row's table and columns, in the form of an insert. */
type Insert = { table: string; columns: string[] }
type Create = { inserts: Insert[]; values: (string | null)[][]; renewedTexts: string[] }

/**
 * PostgreSQL's work for a create, taken from the newest transaction of each merchant: its rows, inserted repeatedly
 * under new ids. Once as one data-modifying statement, once as BEGIN, an INSERT per row, and COMMIT.
 */
export async function readBaseline(
  db: Db,
): Promise<{ oneStatement: Statements; beginCommit: Statements; rowBytes: number }> {
  const newest = await db.query<{ id: string }>(
    raw('select distinct on (merchant_id) id from transactions order by merchant_id, created_at desc'),
  )
  const columnsOf = await readColumns(db)
  const creates: Create[] = []
  for (const { id } of newest) creates.push(await readCreate(db, columnsOf, id))
  const [first] = creates
  if (!first) throw new Error('there is no transaction to take as an example')
  // All of the same shape, so that the same statements run them.
  const alike = creates.filter(({ inserts }) => inserts.length === first.inserts.length)
  const offsets = first.values.map((_, index) => first.values.slice(0, index).flat().length + 1)
  const parts = first.inserts.map((insert, index) => `i${index} as (${toInsert(insert, offsets[index] ?? 1)})`)
  const toExamples = (toValues: (values: Create['values']) => BaselineExample['values']): BaselineExample[] =>
    alike.map(({ values, renewedTexts }) => ({ values: toValues(values), renewedTexts }))
  return {
    oneStatement: {
      statements: [`with ${parts.join(', ')} select`],
      examples: toExamples((values) => [values.flat()]),
    },
    beginCommit: {
      statements: ['begin', ...first.inserts.map((insert) => toInsert(insert, 1)), 'commit'],
      examples: toExamples((values) => [[], ...values, []]),
    },
    rowBytes: (first.values[0] ?? []).reduce((sum, value) => sum + Buffer.byteLength(value ?? ''), 0),
  }
}

/** Columns that are written. PostgreSQL generates the others. */
async function readColumns(db: Db): Promise<Insert[]> {
  const columnsOf: Insert[] = []
  for (const table of tables) {
    const attributes = await db.query<{ name: string }>(
      raw(`select attname as name from pg_attribute
        where attrelid = '${table}'::regclass and attnum > 0 and not attisdropped and attgenerated = '' order by attnum`),
    )
    columnsOf.push({ table, columns: attributes.map(({ name }) => name) })
  }
  return columnsOf
}

async function readCreate(db: Db, columnsOf: Insert[], id: string): Promise<Create> {
  const create: Create = { inserts: [], values: [], renewedTexts: [id] }
  for (const { table, columns } of columnsOf) {
    const idColumn = table === 'transactions' ? 'id' : 'record_id'
    const rows = await db.query<Record<string, string | null>>(
      raw(`select ${columns.map((name) => `${name}::text`).join(', ')} from ${table} where ${idColumn} = '${id}'`),
    )
    for (const row of rows) {
      // Texts as long as a UUID, so that these are new each time too.
      for (const name of ['idempotency_key', 'external_code']) {
        if (!row[name]) continue
        row[name] = randomUUID()
        create.renewedTexts.push(row[name])
      }
      const own = table === 'transactions' ? null : row.id
      if (own && !create.renewedTexts.includes(own)) create.renewedTexts.push(own)
      create.inserts.push({ table, columns })
      create.values.push(columns.map((name) => row[name] ?? null))
    }
  }
  return create
}

/** Without casts: PostgreSQL infers each parameter's type from its column. */
function toInsert({ table, columns }: Insert, first: number): string {
  return `insert into ${table} (${columns.join(', ')}) values (${columns.map((_, index) => `$${first + index}`).join(', ')})`
}

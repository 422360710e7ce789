import { type Db, raw, type Sql, sql } from '../../src/db/sql.ts'

type Node = {
  'Node Type': string
  'Relation Name'?: string
  'Index Name'?: string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  'Heap Fetches'?: number
  Plans?: Node[]
}

/** How PostgreSQL read the rows of a statement. */
export type Plan = {
  /** The kinds of scans, such as `Index Only Scan`. */
  scans: Set<string>
  indexes: Set<string>
  /** Rows or entries that the busiest scan read, including those that it filtered out. */
  rows: number
  /** Rows that had to be fetched although an index has all columns of the statement. */
  heapFetches: number
}

/** Runs some work, and then explains its first statement. */
export async function withPlan<Result>(db: Db, work: (db: Db) => Promise<Result>): Promise<Result & { plan: Plan }> {
  let sent: Sql | undefined
  const result = await work({
    ...db,
    query: async (statement, name) => {
      sent ??= statement
      return await db.query(statement, name)
    },
  })
  if (!sent) throw new Error('the work sent no statement by query()')
  const [row] = await db.query<{ 'QUERY PLAN': { Plan: Node }[] }>(
    sql`explain (analyze, timing off, format json) ${sent}`,
  )
  const nodes = flatten(row?.['QUERY PLAN'][0]?.Plan)
  const scans = nodes.filter((node) => node['Node Type'].endsWith('Scan') && !node['Node Type'].startsWith('CTE'))
  if (scans.length === 0) throw new Error(`the plan scans nothing: ${JSON.stringify(row)}`)
  const passed = (node: Node) => (node['Rows Removed by Filter'] ?? 0) + node['Actual Rows']
  const plan = {
    scans: new Set(scans.map((node) => node['Node Type'])),
    indexes: new Set(nodes.flatMap((node) => node['Index Name'] ?? [])),
    rows: Math.max(...scans.map((node) => passed(node) * node['Actual Loops'])),
    heapFetches: scans.reduce((sum, node) => sum + (node['Heap Fetches'] ?? 0), 0),
  }
  return { ...result, plan }
}

/** Marks all pages of a table as visible to all, so that a plan shows how many rows it must fetch. */
export async function vacuum(db: Db, table: string): Promise<void> {
  for (let tries = 0; tries < 20; tries++) {
    await db.query(raw(`vacuum (freeze, analyze) ${table}`))
    const [row] = await db.query<{ whole: boolean }>(
      sql`select relallvisible = relpages as whole from pg_class where oid = ${table}::regclass`,
    )
    // Vacuum skips a page that something else reads or writes at this moment.
    if (row?.whole) return
  }
  throw new Error(`Vacuum did not reach all pages of ${table}`)
}

function flatten(node: Node | undefined): Node[] {
  return node ? [node, ...(node.Plans ?? []).flatMap(flatten)] : []
}

import { type Db, sql, type Tx } from './sql.ts'

/**
 * Runs `work` in a transaction whose statements take as long as they take: at ten million transactions some that verify run for a minute,
 * where the pool ends them. Still at READ COMMITTED: each statement agrees with itself, and one snapshot for all of them would keep dead
 * rows of busy accounts from being cleaned up for minutes. On one core: nobody waits for it, and the others are for those who do. `byIndex`: what it
 * looks at are few rows of large tables, also where PostgreSQL has no statistics yet that say so.
 *
 * @throws when `stopping` is aborted meanwhile: at once, in the middle of a statement
 */
export async function workLong<Result>(
  db: Db,
  { stopping, readOnly, byIndex = false }: { stopping?: AbortSignal | undefined; readOnly: boolean; byIndex?: boolean },
  work: (tx: Tx) => Promise<Result>,
): Promise<Result> {
  return await db.transaction(async (tx) => {
    const [connection] = await tx.query<{ pid: number }>(sql`
      select pg_backend_pid() as pid, set_config('statement_timeout', '0', true),
        set_config('max_parallel_workers_per_gather', '0', true), set_config('transaction_read_only', ${String(readOnly)}, true),
        set_config('enable_seqscan', ${byIndex ? 'off' : 'on'}, true),
        set_config('enable_incremental_sort', ${byIndex ? 'off' : 'on'}, true)`)
    let canceled: Promise<unknown> = Promise.resolve()
    const cancel = () => {
      canceled = db.query(sql`select pg_cancel_backend(${connection?.pid})`).catch(() => {})
    }
    stopping?.addEventListener('abort', cancel, { once: true })
    try {
      return await work({
        ...tx,
        query: async (statement, name) => {
          // Between two statements there is nothing that could be canceled.
          stopping?.throwIfAborted()
          return await tx.query(statement, name)
        },
      })
    } finally {
      stopping?.removeEventListener('abort', cancel)
      // Or it would meet the next statement on this connection, which may be anybody's.
      await canceled
    }
  })
}

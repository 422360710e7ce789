import { type Db, type Sql, sql, type Tx } from './sql.ts'

/**
 * Runs `work` in a transaction without a statement timeout: at ten million transactions some verification queries run
 * for a minute, where the pool's timeout would cancel them. The isolation stays READ COMMITTED: each statement is
 * consistent, and one snapshot for all of them would prevent VACUUM from removing dead rows for minutes. It uses one
 * core: nobody waits for this work, and the other cores serve requests.
 * `prefersIndexes`: for statements that read few rows of large tables. PostgreSQL may have no statistics yet that say so.
 * @throws immediately when `stopping` is aborted, even during a statement
 */
export async function runWithoutTimeout<Result>(
  db: Db,
  {
    stopping,
    readOnly,
    prefersIndexes = false,
  }: { stopping?: AbortSignal | undefined; readOnly: boolean; prefersIndexes?: boolean },
  work: (tx: Tx) => Promise<Result>,
): Promise<Result> {
  const foreground = db.background?.of ?? db
  // A transaction that only reads holds no row locks, so it may pause between two statements: each statement is a step
  // of background work (background.ts). A transaction that writes is one step: it must not pause while it holds locks.
  const step = (readOnly && db.background?.step) || null
  return await (step ? foreground : db).transaction(async (tx) => {
    const [connection] = await tx.query<{ pid: number }>(sql`
      select pg_backend_pid() as pid, set_config('statement_timeout', '0', true),
        set_config('max_parallel_workers_per_gather', '0', true), set_config('transaction_read_only', ${String(readOnly)}, true),
        set_config('enable_seqscan', ${prefersIndexes ? 'off' : 'on'}, true),
        set_config('enable_incremental_sort', ${prefersIndexes ? 'off' : 'on'}, true)`)
    let canceled: Promise<unknown> = Promise.resolve()
    const cancel = () => {
      canceled = foreground.query(sql`select pg_cancel_backend(${connection?.pid})`).catch(() => {})
    }
    stopping?.addEventListener('abort', cancel, { once: true })
    try {
      return await work({
        ...tx,
        query: async <Row extends object>(statement: Sql, name?: string) => {
          const run = async () => {
            // Between two statements there is nothing to cancel. A step may also have waited for its turn until now.
            stopping?.throwIfAborted()
            return await tx.query<Row>(statement, name)
          }
          return await (step ? step(run) : run())
        },
      })
    } finally {
      stopping?.removeEventListener('abort', cancel)
      // Otherwise the cancellation could hit the next statement on this connection.
      await canceled
    }
  })
}

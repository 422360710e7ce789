import type pg from 'pg'

/** What is done within one transaction, undone together when anything of it throws. */
export async function inTransaction<Result>(
  pool: pg.Pool,
  work: (client: pg.PoolClient) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect()
  try {
    await client.query('begin')
    const result = await work(client)
    await client.query('commit')
    client.release()
    return result
  } catch (error) {
    // The connection is thrown away, and the transaction with it.
    client.release(true)
    throw error
  }
}

import type pg from 'pg'

/** A defence that this PSP received. */
export type DefenceRow = {
  id: string
  disputeId: string
  /** The case number (`protocolo` in the API) that people quote to the PSP. */
  protocol: number
  text: string
  /** The ids of its files. */
  files: string[]
  receivedAt: Date
}

/** Null if another dispute has a defence with this id. The caller holds the lock of the dispute, which has none yet. */
export async function insertDefence(
  client: pg.PoolClient,
  row: Omit<DefenceRow, 'protocol'>,
): Promise<DefenceRow | null> {
  const { rows } = await client.query<{ protocol: string }>({
    text: `
      insert into simulator.defences (id, dispute_id, text, files, received_at) values ($1, $2, $3, $4, $5)
      on conflict (id) do nothing
      returning protocol::text as protocol`,
    values: [row.id, row.disputeId, row.text, row.files, row.receivedAt.toISOString()],
  })
  return rows[0] ? { ...row, protocol: Number(rows[0].protocol) } : null
}

export async function findDefenceOf(client: pg.PoolClient, disputeId: string): Promise<DefenceRow | null> {
  const { rows } = await client.query<Omit<DefenceRow, 'protocol'> & { protocol: string }>({
    text: `
      select id::text as id, dispute_id::text as "disputeId", protocol::text as protocol, text, files,
        received_at as "receivedAt"
      from simulator.defences where dispute_id = $1`,
    values: [disputeId],
  })
  return rows[0] ? { ...rows[0], protocol: Number(rows[0].protocol) } : null
}

type FileRow = { id: string; defenceId: string; name: string; type: string; content: Buffer }

export async function insertDefenceFile(pool: pg.Pool, file: FileRow): Promise<void> {
  await pool.query({
    text: `
      insert into simulator.defence_files (defence_id, id, name, type, content) values ($1, $2, $3, $4, $5)
      on conflict do nothing`,
    values: [file.defenceId, file.id, file.name, file.type, file.content],
  })
}

export async function listDefenceFiles(client: pg.PoolClient, defenceId: string): Promise<string[]> {
  const { rows } = await client.query<{ id: string }>({
    text: `select id::text as id from simulator.defence_files where defence_id = $1`,
    values: [defenceId],
  })
  return rows.map(({ id }) => id)
}

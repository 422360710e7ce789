import { type Db, empty, sql, type Tx } from '../db/sql.ts'

export type ProposalRow = {
  id: string
  kind: string
  /** Null: the operator's own merchant. */
  merchant_id: string | null
  record_id: string
  content: Record<string, unknown>
  proposed_by: string
  proposed_at: Date
  state: 'open' | 'approved' | 'rejected' | 'replaced'
  decided_by: string | null
  decided_at: Date | null
}

const columns = sql`
  id, kind, merchant_id, record_id, content, proposed_by, proposed_at, state, decided_by, decided_at`

/** Null when another proposal of this kind is open for the record. */
export async function insertProposal(
  tx: Tx,
  row: Omit<ProposalRow, 'state' | 'decided_by' | 'decided_at'>,
): Promise<ProposalRow | null> {
  const rows = await tx.query<ProposalRow>(sql`
    insert into proposals (id, kind, merchant_id, record_id, content, proposed_by, proposed_at)
    values (
      ${row.id}, ${row.kind}, ${row.merchant_id}, ${row.record_id}, ${JSON.stringify(row.content)}, ${row.proposed_by},
      ${row.proposed_at})
    on conflict (kind, record_id) where state = 'open' do nothing
    returning ${columns}`)
  return rows[0] ?? null
}

export async function findProposal(db: Db | Tx, id: string): Promise<ProposalRow | null> {
  const rows = await db.query<ProposalRow>(sql`select ${columns} from proposals where id = ${id}`)
  return rows[0] ?? null
}

/** The newest proposal about a record, whatever was decided. */
export async function findProposalAbout(
  tx: Tx,
  { kind, recordId }: { kind: string; recordId: string },
): Promise<ProposalRow | null> {
  const rows = await tx.query<ProposalRow>(sql`
    select ${columns} from proposals where kind = ${kind} and record_id = ${recordId}
    order by proposed_at desc limit 1`)
  return rows[0] ?? null
}

export async function lockProposal(tx: Tx, id: string): Promise<ProposalRow | null> {
  const rows = await tx.query<ProposalRow>(sql`
    select ${columns} from proposals where id = ${id} for no key update`)
  return rows[0] ?? null
}

export async function lockOpenProposal(
  tx: Tx,
  { kind, recordId }: { kind: string; recordId: string },
): Promise<ProposalRow | null> {
  const rows = await tx.query<ProposalRow>(sql`
    select ${columns} from proposals where kind = ${kind} and record_id = ${recordId} and state = 'open' for no key update`)
  return rows[0] ?? null
}

export async function updateProposal(
  tx: Tx,
  id: string,
  { state, by, now }: { state: Exclude<ProposalRow['state'], 'open'>; by: string; now: Date },
): Promise<void> {
  await tx.query(sql`
    update proposals set state = ${state}, decided_by = ${by}, decided_at = ${now} where id = ${id}`)
}

export type ListedProposal = ProposalRow & { client_id: string | null; client_name: string | null }

/** Open proposals, those waiting longest first: of some kinds, of all merchants, of one, or about one record. */
export async function listOpenProposals(
  db: Db,
  { kinds, merchantId, recordId, limit }: { kinds: string[]; merchantId?: string; recordId?: string; limit: number },
): Promise<ListedProposal[]> {
  return await db.query<ListedProposal>(sql`
    select id, kind, proposals.merchant_id, record_id, content, proposed_by, proposed_at, state, decided_by, decided_at,
      client_id, clients.name as client_name
    from proposals left join clients using (merchant_id)
    where state = 'open' and kind = any (${kinds})
      ${merchantId === undefined ? empty : sql`and proposals.merchant_id = ${merchantId}`}
      ${recordId === undefined ? empty : sql`and record_id = ${recordId}`}
    order by proposed_at, id limit ${limit}`)
}

export type Enrolment = {
  id: string
  enrolled_by: string | null
  enrolled_at: Date | null
  /** The account signs in at the identity provider. */
  is_of_provider: boolean
  /** The account itself, who invited or reset it, who invited or reset them, and so on. */
  chain: string[]
}

/** Who invited or reset an account, by its name in the audit log; null when the actor is no account. */
export async function findEnrolment(db: Db | Tx, actor: string): Promise<Enrolment | null> {
  const email = actor.slice(actor.indexOf(':') + 1).toLowerCase()
  const rows = await db.query<Enrolment>(sql`
    with recursive chain as (
      select id, enrolled_by from users where email = ${email}
      union
      select users.id, users.enrolled_by from chain join users on users.id = chain.enrolled_by
    )
    select id, enrolled_by, enrolled_at, password_hash is null as is_of_provider,
      (select array_agg(id) from chain) as chain
    from users where email = ${email}`)
  return rows[0] ?? null
}

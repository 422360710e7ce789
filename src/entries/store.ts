import { type Db, sql, type Tx } from '../db/sql.ts'
import { type Account, type EntryType, type TransferKind, toAccount } from '../ledger/accounts.ts'
import { operatorMerchantId } from '../suspense/status.ts'

export type EntryRow = {
  id: string
  type: EntryType
  idempotency_key: string
  merchant_id: string
  acquirer: string
  amount: number
  debit: Account | null
  credit: Account | null
  reference: string | null
  description: string
  created_by: string
  proposal_id: string | null
  created_at: Date
}

const columns = sql`
  id, type, idempotency_key, merchant_id, acquirer, amount, debit, credit, reference, description, created_by, proposal_id, created_at`

/** Null when the key was used already, or when another entry at the acquirer has the reference. */
export async function insertEntry(tx: Tx, row: EntryRow): Promise<EntryRow | null> {
  const rows = await tx.query<EntryRow>(sql`
    insert into operator_entries (${columns})
    values (
      ${row.id}, ${row.type}, ${row.idempotency_key}, ${row.merchant_id}, ${row.acquirer}, ${row.amount}, ${row.debit}, ${row.credit},
      ${row.reference}, ${row.description}, ${row.created_by}, ${row.proposal_id}, ${row.created_at})
    on conflict do nothing returning ${columns}`)
  return rows[0] ?? null
}

export async function findEntry(db: Db | Tx, id: string): Promise<EntryRow | null> {
  const rows = await db.query<EntryRow>(sql`select ${columns} from operator_entries where id = ${id}`)
  return rows[0] ?? null
}

export async function findEntryByKey(tx: Tx, key: string): Promise<EntryRow | null> {
  const rows = await tx.query<EntryRow>(sql`select ${columns} from operator_entries where idempotency_key = ${key}`)
  return rows[0] ?? null
}

export type PostedTransfer = {
  kind: TransferKind
  debit: Account
  credit: Account
  amount: number
  /** The owners of the accounts: how many merchants, or the operator's own merchant. */
  merchants: number
  isOperators: boolean
}

/** The transfers of an entry, summed by accounts: a draw may take from the fees of many merchants. */
export async function sumTransfers(tx: Tx, entryId: string): Promise<PostedTransfer[]> {
  const rows = await tx.query<Omit<PostedTransfer, 'debit' | 'credit'> & { debit: string; credit: string }>(sql`
    select kind, debit, credit, sum(amount)::bigint as amount, count(distinct merchant_id)::int as merchants,
      merchant_id = ${operatorMerchantId} as "isOperators"
    from ledger_transfers
    where record_id = ${entryId} and ${isEntryTransfer}
    group by kind, debit, credit, "isOperators" order by min(id)`)
  return rows.map((row) => ({ ...row, debit: toAccount(row.debit), credit: toAccount(row.credit) }))
}

export type ListedEntry = EntryRow & { client_id: string | null; client_name: string | null }

/** Newest first. */
export async function listEntries(
  db: Db | Tx,
  { merchantId, limit }: { merchantId: string | null; limit: number },
): Promise<ListedEntry[]> {
  return await db.query<ListedEntry>(sql`
    select e.*, client_id, clients.name as client_name from (
      select ${columns} from operator_entries
      where ${merchantId === null ? sql`true` : sql`merchant_id = ${merchantId}`}
      order by created_at desc, id limit ${limit}
    ) e left join clients using (merchant_id)
    order by created_at desc, id`)
}

/**
 * Merchants whose fees together cover an amount, or all that have fees if they do not; the largest fees first. Without
 * `except` and the operator's own merchant. Only one transaction at a time gets the answer, until it ends: the next one
 * must see the fees that are left. The caller locks the accounts afterwards.
 */
export async function findFeeHolders(
  tx: Tx,
  { amount, except }: { amount: number; except: string },
): Promise<string[]> {
  await tx.query(sql`select pg_advisory_xact_lock(hashtextextended('fee holders', 0))`)
  const rows = await tx.query<{ merchant_id: string }>(sql`
    select merchant_id from (
      select merchant_id, balance, coalesce(sum(balance) over (
        order by balance desc, merchant_id rows between unbounded preceding and 1 preceding), 0) as before
      from ledger_accounts
      where account = 'fees' and balance > 0 and merchant_id not in (${operatorMerchantId}, ${except})
    ) holders
    where before < ${amount}`)
  return rows.map(({ merchant_id }) => merchant_id)
}

/** The fees of all merchants that the operator can draw, in cents. */
export async function sumFees(db: Db | Tx): Promise<number> {
  const [row] = await db.query<{ sum: number }>(sql`
    select coalesce(sum(balance), 0)::bigint as sum from ledger_accounts where account = 'fees'`)
  return row?.sum ?? 0
}

/** The sums of the balances that left for each other cell, and that came from it. */
export async function sumMoves(db: Db): Promise<{ direction: 'in' | 'out'; cell: string; cents: number }[]> {
  return await db.query(sql`
    select case type when 'move_in' then 'in' else 'out' end as direction, content ->> 'otherCell' as cell,
      sum(amount)::bigint as cents
    from operator_entries join proposals on proposals.id = proposal_id
    where type in ('move_in', 'move_out') group by 1, 2 order by 1, 2`)
}

/** The transfers of entries: the same condition as that of their index on ledger_transfers. */
export const isEntryTransfer = sql`record_type in ('fee_draw', 'pay_in', 'write_off', 'psp_fee', 'manual_entry', 'move_out', 'move_in')`

import { type By, recordAction } from '../audit/record.ts'
import type { Db, Tx } from '../db/sql.ts'
import { idempotencyKeyReused } from '../http/idempotency-key.ts'
import type { Account, Balances, EntryType, TransferKind } from '../ledger/accounts.ts'
import { type Posting, postAll, type Transfer, upTo } from '../ledger/post.ts'
import { movedIn, movedOut, paidIn, paidInByOperator, writtenOff } from '../ledger/transfers.ts'
import { assert } from '../lib/assert.ts'
import type { Clock } from '../lib/clock.ts'
import { AppError, type FieldError } from '../lib/errors.ts'
import { inReais } from '../lib/money.ts'
import { newUuid } from '../lib/secrets.ts'
import { operatorMerchantId } from '../suspense/status.ts'
import {
  type EntryRow,
  findEntryByKey,
  findFeeHolders,
  insertEntry,
  type PostedTransfer,
  sumTransfers,
} from './store.ts'

export type NewEntry = {
  /** Only for a balance that moves between two cells (separate installations, lib/cell.ts): the same id in both. */
  id?: string
  type: EntryType
  idempotencyKey: string
  /** Null: the operator's own merchant. */
  merchantId: string | null
  acquirer: string
  amount: number
  /** The PSP's identifier of the movement. */
  reference?: string | null
  description: string
  by: By
  /** The merchant's client, as the audit log shows it. */
  clientId?: string | undefined
  /** Only for a manual entry. */
  manual?: { debit: Account; credit: Account }
  /** The proposal that a second person approved. */
  proposalId?: string
}

export type PostedEntry = { entry: EntryRow; isReplay: boolean }

type Deps = { db: Db; clock: Clock }

/**
 * Posts an entry of the operator: the row and its transfers, in one commit and once for each key. An entry sends
 * nothing: somebody moves the money itself at the PSP, before or after.
 *
 * @throws {AppError} `idempotency_key_reused`; `entry_not_possible` when the accounts do not cover it or the reference
 *   is taken: nothing is posted then
 */
export async function postEntry({ db, clock }: Deps, input: NewEntry): Promise<PostedEntry> {
  return await db.transaction(async (tx) => {
    const { type, by, clientId, acquirer, amount, reference = null, description } = input
    assert(type !== 'manual_entry' && !isMove(type), 'this entry needs a second person’s approval')
    const now = clock.now()
    const posted = await post(tx, input, now)
    const details = { acquirer, amount, reference, description, ...(clientId && { clientId }) }
    const { merchant_id: merchantId, id: recordId } = posted.entry
    if (!posted.isReplay) await recordAction(tx, { by, action: `entry.${type}`, merchantId, recordId, details, now })
    return posted
  })
}

/**
 * Returns what {@link postEntry} would post now, summed by kind and accounts. The entry is posted and rolled back, so
 * that a preview cannot differ from the posting.
 *
 * @throws {AppError} what `postEntry` throws
 */
export async function previewEntry({ db, clock }: Deps, input: NewEntry): Promise<PostedTransfer[]> {
  const preview = new Preview()
  await db
    .transaction(async (tx) => {
      const { entry } = await post(tx, input, clock.now())
      preview.transfers = await sumTransfers(tx, entry.id)
      throw preview
    })
    .catch((error: unknown) => {
      if (error !== preview) throw error
    })
  return preview.transfers
}

/** Thrown to roll back a preview. */
class Preview extends Error {
  transfers: PostedTransfer[] = []
}

/**
 * Posts an entry in the caller's commit, without writing it to the audit log: {@link postEntry} does that, and so does
 * the approval of a proposal.
 */
export async function post(tx: Tx, input: NewEntry, now: Date): Promise<PostedEntry> {
  const row = toRow(input, now)
  if (!(await insertEntry(tx, row))) return await replay(tx, row)
  const { postings, finish } = await toPostings(tx, row)
  await postAll(tx, postings)
  finish()
  return { entry: row, isReplay: false }
}

function toRow(input: NewEntry, now: Date): EntryRow {
  const { type, idempotencyKey, merchantId, acquirer, amount, reference = null, description, by } = input
  const { manual, proposalId = null } = input
  return {
    id: input.id ?? newUuid(),
    type,
    idempotency_key: idempotencyKey,
    merchant_id: merchantId ?? operatorMerchantId,
    acquirer,
    amount,
    debit: manual?.debit ?? null,
    credit: manual?.credit ?? null,
    reference,
    description,
    created_by: by.actor,
    proposal_id: proposalId,
    created_at: now,
  }
}

async function replay(tx: Tx, requested: EntryRow): Promise<PostedEntry> {
  const first = await findEntryByKey(tx, requested.idempotency_key)
  if (!first) {
    throw refuse(`Another entry at ${requested.acquirer} already has this reference.`, {
      field: 'reference',
      code: 'duplicate',
    })
  }
  const compared = ['type', 'merchant_id', 'acquirer', 'amount', 'debit', 'credit', 'reference', 'description'] as const
  // The reconciliation adds the reference to an entry that was posted without one.
  const isAdded = requested.reference === null
  const fields = compared.filter((name) => first[name] !== requested[name] && !(name === 'reference' && isAdded))
  if (fields.length > 0) throw idempotencyKeyReused(fields, 'entry')
  return { entry: first, isReplay: true }
}

/** `finish` is called after the postings, and throws if these did not cover the whole amount. */
type Plan = { postings: Posting[]; finish: () => void }

async function toPostings(tx: Tx, row: EntryRow): Promise<Plan> {
  const { type, amount, merchant_id: merchantId } = row
  const isOfOperator = merchantId === operatorMerchantId
  switch (type) {
    case 'fee_draw':
      return await spendFees(tx, row, { kind: 'fees_drawn', remaining: amount, mayLose: false })
    case 'psp_fee':
      return await spendFees(tx, row, { kind: 'psp_fee', remaining: amount, mayLose: true })
    case 'pay_in':
      return only({ ...about(row, merchantId), transfers: isOfOperator ? paidInByOperator(amount) : paidIn(amount) })
    case 'write_off': {
      const rest = { kind: 'debt_written_off' as const, remaining: 0, mayLose: true }
      const spent = await spendFees(tx, row, rest)
      const forgiven = writtenOff(amount, (remaining) => {
        rest.remaining = remaining
      })
      const posting = {
        ...about(row, merchantId),
        transfers: (balances: Balances) => forgiven(assertOwed(balances, row)),
      }
      return { postings: [posting, ...spent.postings], finish: spent.finish }
    }
    case 'move_out': {
      const [transfer] = movedOut(amount)()
      assert(transfer, 'a balance that leaves is one transfer')
      return only({ ...about(row, merchantId), transfers: (balances) => [assertCovered(balances, transfer)] })
    }
    case 'move_in':
      return only({ ...about(row, merchantId), transfers: movedIn(amount) })
    case 'manual_entry': {
      const { debit, credit } = row
      assert(debit && credit, 'a manual entry names its accounts')
      const transfer: Transfer = { kind: 'manual', debit, credit, amount }
      const transfers = (balances: Balances) => [assertCovered(balances, transfer)]
      return only({ ...about(row, merchantId), transfers })
    }
  }
}

function only(posting: Posting): Plan {
  return { postings: [posting], finish: () => {} }
}

function about({ id, type, acquirer, created_at: now }: EntryRow, merchantId: string): Omit<Posting, 'transfers'> {
  // Both cells post a move under the same key.
  const eventKey = isMove(type) ? `move:${id}` : `${type}:${id}`
  return { merchantId, eventKey, recordType: type, recordId: id, acquirer, now }
}

export function isMove(type: EntryType): type is 'move_out' | 'move_in' {
  return type === 'move_out' || type === 'move_in'
}

type Spending = { kind: TransferKind; remaining: number; mayLose: boolean }

/**
 * Takes `remaining` from the earned fees of one merchant after another. The operator's own merchant comes last. What
 * the fees do not cover becomes a loss of the operator's own merchant if `mayLose`; otherwise `finish` refuses the
 * entry. The sum is counted under the locks, posting by posting in this order.
 */
async function spendFees(tx: Tx, row: EntryRow, spending: Spending): Promise<Plan> {
  const { kind, mayLose } = spending
  const holders = await findFeeHolders(tx, { amount: row.amount, except: row.merchant_id })
  const take = ({ fees }: Balances): Transfer => {
    const amount = upTo(fees, spending.remaining)
    spending.remaining -= amount
    return { kind, debit: 'fees', credit: 'acquirer', amount }
  }
  const lose = (): Transfer => {
    const amount = mayLose ? spending.remaining : 0
    spending.remaining -= amount
    return { kind, debit: 'debt', credit: 'acquirer', amount }
  }
  const ofOperator = { ...about(row, operatorMerchantId), transfers: (balances: Balances) => [take(balances), lose()] }
  const postings = holders.map((merchantId): Posting => {
    return { ...about(row, merchantId), transfers: (balances) => [take(balances)] }
  })
  return {
    postings: [...postings, ofOperator],
    finish() {
      if (spending.remaining === 0) return
      throw refuse(
        `The fees are ${inReais(spending.remaining)} short of ${inReais(row.amount)}: \`npx guiche ledger accounts\` shows what can be drawn.`,
        {
          field: 'amount',
          code: 'more_than_fees',
          limit: row.amount - spending.remaining,
          unit: 'cents',
          message: `The fees are ${inReais(spending.remaining)} short of this amount.`,
        },
      )
    },
  }
}

function assertOwed(balances: Balances, { amount }: EntryRow): Balances {
  const owed = 0 - balances.debt
  if (amount <= owed) return balances
  throw refuse(`The merchant owes ${inReais(owed)}, which is less than ${inReais(amount)}: nothing was written off.`, {
    field: 'amount',
    code: 'more_than_owed',
    limit: owed,
    unit: 'cents',
  })
}

/** The database enforces the same rule, but its error has no message for the caller. */
function assertCovered(balances: Balances, transfer: Transfer): Transfer {
  const { debit, credit, amount } = transfer
  const mayGoBelow = debit === 'acquirer' || debit === 'debt'
  if (!mayGoBelow && balances[debit] < amount) {
    throw refuse(`${debit} has ${inReais(balances[debit])}, which is less than ${inReais(amount)}.`, {
      field: 'amount',
      code: 'more_than_balance',
      limit: balances[debit],
      unit: 'cents',
    })
  }
  if (credit === 'debt' && balances.debt + amount > 0) {
    throw refuse(`The debt is ${inReais(0 - balances.debt)}, which is less than ${inReais(amount)}.`, {
      field: 'amount',
      code: 'more_than_owed',
      limit: 0 - balances.debt,
      unit: 'cents',
    })
  }
  return transfer
}

/** @param at the field that the caller has to change */
export function refuse(detail: string, at: Omit<FieldError, 'message'> & { message?: string }): AppError {
  return new AppError('entry_not_possible', { detail, fields: [{ message: detail, ...at }] })
}

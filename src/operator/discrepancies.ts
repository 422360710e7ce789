import type { By } from '../audit/record.ts'
import type { Db } from '../db/sql.ts'
import { AppError } from '../lib/errors.ts'
import { confirmDifference, dismissDifference } from '../reconciliation/decide.ts'
import type { SettleDeps } from '../transactions/settle.ts'
import { findListedDifference, type ListedDifference } from './reconciliation-store.ts'

/** @throws {AppError} `not_found` */
export async function findDiscrepancy(db: Db, id: string): Promise<ListedDifference> {
  const row = await findListedDifference(db, id)
  if (row) return row
  throw new AppError('not_found', {
    detail: `There is no discrepancy ${id}. \`npx guiche reconcile list\` lists them.`,
  })
}

/**
 * Carries out what is proposed about a discrepancy.
 *
 * @throws {AppError} `not_found`, and the errors of `confirmDifference`
 */
export async function confirmDiscrepancy(
  deps: SettleDeps,
  { id, ...decision }: Parameters<typeof confirmDifference>[1],
): Promise<DifferenceView> {
  await findDiscrepancy(deps.db, id)
  await confirmDifference(deps, { id, ...decision })
  return toDifferenceView(await findDiscrepancy(deps.db, id))
}

/** @throws {AppError} `not_found`, `difference_not_possible` */
export async function dismissDiscrepancy(
  deps: Pick<SettleDeps, 'db' | 'clock'>,
  { id, by, reason }: { id: string; by: By; reason: string },
): Promise<DifferenceView> {
  await findDiscrepancy(deps.db, id)
  await dismissDifference(deps, { id, by, reason })
  return toDifferenceView(await findDiscrepancy(deps.db, id))
}

export type DifferenceView = ReturnType<typeof toDifferenceView>

export function toDifferenceView(row: ListedDifference) {
  return {
    id: row.id,
    acquirer: row.acquirer,
    class: row.class,
    subject: row.subject,
    reference: row.reference,
    at: row.at.toISOString(),
    atAcquirer: row.at_acquirer,
    inLedger: row.in_ledger,
    proposal: row.proposal,
    state: row.state,
    client: row.client_id === null ? null : { clientId: row.client_id, name: row.client_name ?? '' },
    record: row.record_type && row.record_id ? { type: row.record_type, id: row.record_id } : null,
    foundAt: row.found_at.toISOString(),
    decidedAt: row.decided_at?.toISOString() ?? null,
    decidedBy: row.decided_by,
    reason: row.reason,
  }
}

import type { By } from '../audit/record.ts'
import type { Db } from '../db/sql.ts'
import { AppError } from '../lib/errors.ts'
import { confirmDiscrepancy, dismissDiscrepancy } from '../reconciliation/decide.ts'
import type { SettleDeps } from '../transactions/settle.ts'
import { findListedDiscrepancy, type ListedDiscrepancy } from './reconciliation-store.ts'

/** @throws {AppError} `not_found` */
export async function findDiscrepancy(db: Db, id: string): Promise<ListedDiscrepancy> {
  const row = await findListedDiscrepancy(db, id)
  if (row) return row
  throw new AppError('not_found', {
    detail: `There is no discrepancy ${id}. \`npx guiche reconcile list\` lists them.`,
  })
}

/**
 * Carries out what is proposed about a discrepancy.
 *
 * @throws {AppError} `not_found`, and the errors of `confirmDiscrepancy`
 */
export async function confirmListedDiscrepancy(
  deps: SettleDeps,
  { id, ...decision }: Parameters<typeof confirmDiscrepancy>[1],
): Promise<DiscrepancyView> {
  await findDiscrepancy(deps.db, id)
  await confirmDiscrepancy(deps, { id, ...decision })
  return toDiscrepancyView(await findDiscrepancy(deps.db, id))
}

/** @throws {AppError} `not_found`, `difference_not_possible` */
export async function dismissListedDiscrepancy(
  deps: Pick<SettleDeps, 'db' | 'clock'>,
  { id, by, reason }: { id: string; by: By; reason: string },
): Promise<DiscrepancyView> {
  await findDiscrepancy(deps.db, id)
  await dismissDiscrepancy(deps, { id, by, reason })
  return toDiscrepancyView(await findDiscrepancy(deps.db, id))
}

export type DiscrepancyView = ReturnType<typeof toDiscrepancyView>

export function toDiscrepancyView(row: ListedDiscrepancy) {
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

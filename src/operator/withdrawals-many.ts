import { listActions } from '../audit/store.ts'
import type { Db } from '../db/sql.ts'
import type { Clock } from '../lib/clock.ts'
import { AppError, type FieldErrorCode } from '../lib/errors.ts'
import { findToDecide } from '../withdrawals/operator-store.ts'
import type { DecisionOutcome, WithdrawalStatus } from '../withdrawals/status.ts'
import { approvePayout, rejectPayout, type Viewer } from './withdrawals.ts'

type Deps = { db: Db; clock: Clock; wakeDeliveries: () => void }

/** As many as fit on a page of the list: a person has seen each of them. */
export const decidedMax = 20

/** What became of one of several withdrawals. */
export type DecisionResult = {
  id: string
  outcome: DecisionOutcome
  /** Why it was not decided. */
  code: FieldErrorCode | null
  /** Its current status; null if it was not found. */
  status: WithdrawalStatus | null
}

export type ManyDecisions = { ids: string[] } & ({ decision: 'approve' } | { decision: 'reject'; reason: string })

/**
 * Approves or rejects several withdrawals, each as if it were the only one, in a commit of its own: one that is refused
 * stops no other. A withdrawal on which this person has already made the same decision, for example in a request whose
 * answer was lost, is reported as done.
 */
export async function decideWithdrawals(deps: Deps, many: ManyDecisions, viewer: Viewer): Promise<DecisionResult[]> {
  const results: DecisionResult[] = []
  for (const id of new Set(many.ids.map((one) => one.toLowerCase())))
    results.push(await decideOne(deps, id, many, viewer))
  return results
}

async function decideOne(deps: Deps, id: string, many: ManyDecisions, viewer: Viewer): Promise<DecisionResult> {
  try {
    const { status } =
      many.decision === 'approve'
        ? await approvePayout(deps, id, viewer)
        : await rejectPayout(deps, { id, reason: many.reason }, viewer)
    return { id, outcome: 'done', code: null, status: status as WithdrawalStatus }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    if (error.code === 'not_found') return { id, outcome: 'not_found', code: null, status: null }
    if (error.code !== 'withdrawal_not_possible') throw error
    return await explainRefusal(deps.db, { id, error, ...many }, viewer)
  }
}

async function explainRefusal(
  db: Db,
  { id, decision, error }: { id: string; decision: ManyDecisions['decision']; error: AppError },
  { by }: Viewer,
): Promise<DecisionResult> {
  const [fieldError] = error.details.fields ?? []
  const status = (await findToDecide(db, id))?.status ?? null
  if (fieldError?.field === 'approval') return { id, outcome: 'needs_other_person', code: fieldError.code, status }
  const actions = await listActions(db, { recordIds: [id], limit: 100 })
  // After a loss of commits, another person may have decided otherwise since.
  const isRejected = status === 'REJECTED'
  const isOwn =
    isRejected === (decision === 'reject') &&
    actions.some(({ action, actor }) => action === `withdrawal.${decision}` && actor === by.actor)
  return { id, outcome: isOwn ? 'done' : 'changed', code: isOwn ? null : (fieldError?.code ?? null), status }
}

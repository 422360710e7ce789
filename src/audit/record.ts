import type { Db, Tx } from '../db/sql.ts'
import { type ActionName, toDetailsJson } from './actions.ts'
import { insertAction } from './store.ts'

/** An action of a person outside of the API. actions.ts lists the actions and the allowed details. */
export type Action = {
  /** Such as `cli:maria`. */
  actor: string
  action: ActionName
  merchantId?: string | null
  recordId?: string | null
  details?: Record<string, unknown>
  now: Date
}

/**
 * Writes who did what, in the same commit as the action. The log is append-only: the database refuses anything else.
 */
export async function recordAction(tx: Tx, { now, ...action }: Action): Promise<void> {
  await insertAction(tx, {
    at: now,
    actor: action.actor,
    action: action.action,
    merchant_id: action.merchantId ?? null,
    record_id: action.recordId ?? null,
    details: action.details ? toDetailsJson(action.action, action.details) : null,
  })
}

/**
 * A database handle for an operation that a person runs: its first commit also writes the audit entry, so neither
 * exists without the other, and the operation need not know who runs it. An operation that throws leaves no entry.
 * @param toAction if the entry depends on the result of the commit: derives it from what `work` returned, or null for
 * no entry
 */
export function recordedDb(db: Db, toAction: Action | ((done: unknown) => Action | null)): Db {
  let isRecorded = false
  return {
    ...db,
    async transaction(work, gate) {
      const result = await db.transaction(async (tx) => {
        const done = await work(tx)
        const action = typeof toAction === 'function' ? toAction(done) : toAction
        if (action && !isRecorded) await recordAction(tx, action)
        return done
      }, gate)
      isRecorded = true
      return result
    },
  }
}

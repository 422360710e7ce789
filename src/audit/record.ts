import type { Db, Tx } from '../db/sql.ts'
import { type ActionName, toDetailsJson } from './actions.ts'
import { insertAction } from './store.ts'

/** A person did something outside of the API. actions.ts names the actions and what their details may hold. */
export type Action = {
  /** Such as `cli:maria`. */
  actor: string
  action: ActionName
  merchantId?: string | null
  recordId?: string | null
  details?: Record<string, unknown>
  now: Date
}

/** Writes who did what, in the commit that does it. The log is only ever added to: the database refuses anything else. */
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
 * The database as an operation is given it that somebody runs by hand: its first commit carries the record of it as well, so neither
 * is there without the other, and no operation need know who runs it. One that throws leaves no record.
 *
 * @param toAction where what is recorded depends on what the commit did: made of what `work` gave, or null for nothing
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

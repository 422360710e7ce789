import type { Tx } from '../db/sql.ts'
import { type ActionName, toDetailsJson } from './actions.ts'
import { insertAction } from './store.ts'

/** Who runs an operation, as the audit log names people. */
export type By = {
  /** Such as `user:maria@loja.example` or `cli:maria`; `service` for what Guichê does automatically. */
  actor: string
  /** The operating system's user, if `--as` names another person. */
  login?: string
}

export const byService: By = { actor: 'service' }

/** An action of a person or of Guichê itself. actions.ts lists the actions and the allowed details. */
export type Action = {
  /** Null: an API client of the merchant. Nothing is written, because the records themselves show what it did. */
  by: By | null
  action: ActionName
  merchantId?: string | null
  recordId?: string | null
  details?: Record<string, unknown>
  now: Date
}

/**
 * Writes who did what, in the same commit as the action. The log is append-only: the database refuses anything else.
 */
export async function recordAction(tx: Tx, { by, now, action, ...about }: Action): Promise<void> {
  if (by === null) return
  const details = by.login === undefined ? about.details : { ...about.details, by: by.login }
  await insertAction(tx, {
    at: now,
    actor: by.actor,
    action,
    merchant_id: about.merchantId ?? null,
    record_id: about.recordId ?? null,
    details: details ? toDetailsJson(action, details) : null,
  })
}

/** What merchants see instead of the operator's users. */
export const theOperator = 'operator'

type Person = { email: string }

/** A user as the audit log names people. */
export function toActor({ email }: Person): string {
  return `user:${email}`
}

/** A user who is signed in, as the one who runs an operation. */
export function byUser(user: Person): By {
  return { actor: toActor(user) }
}

/** Who acts in a request: null for an API client of the merchant. */
export function byCaller({ user }: { user: Person | null }): By | null {
  return user && byUser(user)
}

/** Whether two actors are the same person, at the dashboard or on the command line. */
export function isSamePerson(one: string, other: string): boolean {
  return nameOf(one) === nameOf(other)
}

function nameOf(actor: string): string {
  return actor.slice(actor.indexOf(':') + 1).toLowerCase()
}

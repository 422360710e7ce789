import type { Db } from '../db/sql.ts'
import type { Clock } from '../lib/clock.ts'
import { type Action, recordedDb } from './record.ts'

type About = Omit<Action, 'actor' | 'now'>

/**
 * A database handle for a request's operation. If a user made the request, the operation's commit also writes the
 * audit entry. Requests with a merchant's token get none: their records already show what they did.
 *
 * @param about the audit entry, or a function that derives it from the result of the operation's transaction: null
 *   (no entry) where the operation did nothing, as for a replay
 */
export function actingDb<Done>(
  { db, clock }: { db: Db; clock: Clock },
  { user }: { user: Person | null },
  about: About | ((done: Done) => About | null),
): Db {
  if (!user) return db
  const actor = toActor(user)
  return recordedDb(db, (done) => {
    const action = typeof about === 'function' ? about(done as Done) : about
    return action && { ...action, actor, now: clock.now() }
  })
}

/** What merchants see instead of the operator's users. */
export const theOperator = 'operator'

type Person = { email: string }

/** A user's name in the audit log. */
export function toActor({ email }: Person): string {
  return `user:${email}`
}

/** Whether two actors are the same person, at the dashboard or on the command line. */
export function isSamePerson(one: string, other: string): boolean {
  return nameOf(one) === nameOf(other)
}

function nameOf(actor: string): string {
  return actor.slice(actor.indexOf(':') + 1).toLowerCase()
}

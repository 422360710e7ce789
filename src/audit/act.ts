import type { Db } from '../db/sql.ts'
import type { Clock } from '../lib/clock.ts'
import { type Action, recordedDb } from './record.ts'

type About = Omit<Action, 'actor' | 'now'>

/**
 * The database for what a request does: a person's is then in the audit log, in its own commit. A shop's, which comes with a token, is not:
 * its records tell of it.
 *
 * @param about what is recorded; or made of what the operation's transaction gave, null where it did nothing, as for a replay
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

/** A person as the audit log names them. */
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

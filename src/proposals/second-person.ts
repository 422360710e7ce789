import { isSamePerson } from '../audit/act.ts'
import type { Db, Tx } from '../db/sql.ts'
import { findEnrolment } from './store.ts'

/** So that the other admins see who was invited or reset before that account can approve anything. */
const accountAgeMsMin = 24 * 60 * 60_000

export type Request = {
  /** Who asked, as the audit log names people. Null: a merchant's token. */
  requestedBy: string | null
  /** Who made the client secrets that the token may have come from. */
  secretsMadeBy?: string[]
}

/** Why somebody cannot approve a request. `message` continues a sentence that begins with "approval". */
export type Obstacle = {
  code: 'same_person' | 'own_secret' | 'own_account' | 'account_of_requester' | 'new_account'
  message: string
}

/**
 * Looks for what makes the second person of a request the same as the first. The command line is refused only what it asked for itself: whoever
 * has it has the database as well, and it is the way out where nobody else is left.
 *
 * @param by who would approve, as the audit log names people
 * @param command what the command line would run instead
 */
export async function findObstacle(
  db: Db | Tx,
  { requestedBy, secretsMadeBy = [] }: Request,
  { by, now, command }: { by: string; now: Date; command: string },
): Promise<Obstacle | null> {
  const obstacle = (code: Obstacle['code'], why: string): Obstacle => ({
    code,
    message: `is for another person to give: ${why}. Where there is nobody else, run \`npx guiche ${command}\` on the server`,
  })
  if (requestedBy !== null && isSamePerson(requestedBy, by))
    return {
      code: 'same_person',
      message: 'is for another person to give: nobody approves what they asked for themselves',
    }
  if (!by.startsWith('user:')) return null
  if (secretsMadeBy.some((maker) => isSamePerson(maker, by)))
    return obstacle('own_secret', 'you made a client secret that this request may have come through')
  const approver = await findEnrolment(db, by)
  const requester = requestedBy === null ? null : await findEnrolment(db, requestedBy)
  if (requester !== null && requester.enrolled_by !== null && requester.enrolled_by === approver?.id)
    return obstacle('own_account', 'you invited or reset the account that asked for it')
  if (!approver || approver.enrolled_by === null) return null
  if (approver.enrolled_by === requester?.id)
    return obstacle('account_of_requester', 'whoever asked for it invited you or reset your password')
  const since = new Date((approver.enrolled_at?.getTime() ?? 0) + accountAgeMsMin)
  if (since > now)
    return obstacle(
      'new_account',
      `your account was invited or reset less than 24 hours ago, and may approve from ${since.toISOString()} on`,
    )
  return null
}

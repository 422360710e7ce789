import { isSamePerson } from '../audit/record.ts'
import type { Db, Tx } from '../db/sql.ts'
import { type Enrolment, findEnrolment } from './store.ts'

/**
 * An account cannot approve until this long after it was invited, reset, linked to the identity provider or created by
 * a first sign-in there: so that the other admins see it first.
 */
const accountAgeMsMin = 24 * 60 * 60_000

export type Request = {
  /** The requester, as the audit log names people. Null: requested with the token of an API client. */
  requestedBy: string | null
  /** Who created the client secrets that the token may have come from. */
  secretCreators?: string[]
}

export const obstacleCodes = [
  'same_person',
  'own_secret',
  'own_account',
  'account_of_requester',
  'same_inviter',
  'new_account',
] as const

/** Why somebody cannot approve a request. `message` continues a sentence that begins with "approval". */
export type Obstacle = {
  code: (typeof obstacleCodes)[number]
  message: string
}

/**
 * Checks whether the second person of a request is independent of the requester. On the command line only the check
 * for the same person applies. Whoever can run commands can also change the database, and the command line is the last
 * resort if no other person is left.
 *
 * @param by who would approve, as the audit log names people
 * @param command the arguments of `npx guiche` that approve on the server instead
 */
export async function findObstacle(
  db: Db | Tx,
  { requestedBy, secretCreators = [] }: Request,
  { by, now, command }: { by: string; now: Date; command: string },
): Promise<Obstacle | null> {
  const obstacle = (code: Obstacle['code'], why: string): Obstacle => ({
    code,
    message: `must come from another person: ${why}. If there is nobody else, run \`npx guiche ${command}\` on the server`,
  })
  if (requestedBy !== null && isSamePerson(requestedBy, by))
    return {
      code: 'same_person',
      message: 'must come from another person: nobody can approve their own request',
    }
  if (!by.startsWith('user:')) return null
  if (secretCreators.some((maker) => isSamePerson(maker, by)))
    return obstacle('own_secret', 'you created a client secret that this request may have used')
  const approver = await findEnrolment(db, by)
  const makers = requestedBy === null ? secretCreators : [requestedBy]
  const requesters = await Promise.all(makers.map(async (maker) => await findEnrolment(db, maker)))
  const code = approver && findDependence(approver, requesters)
  const account =
    requestedBy === null
      ? 'the account that created a client secret this request may have used'
      : 'the account that the request came from'
  if (code) return obstacle(code, dependences[code](account))
  // Exempt from the waiting time: an account with a password that was invited and reset only on the command line, and
  // an actor without an account.
  if (!approver || (approver.enrolled_by === null && !approver.is_of_provider)) return null
  const since = new Date((approver.enrolled_at?.getTime() ?? 0) + accountAgeMsMin)
  if (since > now)
    return obstacle(
      'new_account',
      `your account was created, reset or linked less than 24 hours ago, and may approve from ${since.toISOString()} on`,
    )
  return null
}

const dependences = {
  own_account: (account: string) => `you invited or reset ${account}, directly or through other accounts`,
  account_of_requester: (account: string) =>
    `${account} invited you or reset your password, directly or through other accounts`,
  same_inviter: (account: string) =>
    `one person invited or reset both your account and ${account}, directly or through other accounts`,
}

/**
 * Why the approver and the requesters count as one person, or null. Whoever gives out a link may use it, so accounts
 * that one person invited or reset, also indirectly, count as one person.
 */
function findDependence(approver: Enrolment, requesters: (Enrolment | null)[]): keyof typeof dependences | null {
  const known = requesters.filter((requester) => requester !== null)
  if (known.some(({ chain }) => chain.includes(approver.id))) return 'own_account'
  if (known.some(({ id }) => approver.chain.includes(id))) return 'account_of_requester'
  return known.some(({ chain }) => chain.some((id) => approver.chain.includes(id))) ? 'same_inviter' : null
}

import { recordAction } from '../audit/record.ts'
import type { Db } from '../db/sql.ts'
import type { Clock } from '../lib/clock.ts'
import { AppError } from '../lib/errors.ts'
import { findUserByEmail } from './store.ts'

const hourMs = 60 * 60_000

export type FailureRecorder = { note(error: unknown): Promise<void> }

/**
 * Which failures of one person and factor within a clock hour are recorded: at most five entries, however many failures
 * there are. Each entry has the count.
 */
const recordedCounts = new Set([1, 10, 100, 1_000, 10_000])

/**
 * Records failed sign-ins in the audit log, where user managers look. Failures at existing users are recorded per
 * user; all others together, so that invented addresses cannot fill the log. Each process counts its own. The security
 * log (http/security-log.ts) counts every failure, with its address.
 */
export function createFailureRecorder({ db, clock }: { db: Db; clock: Clock }): FailureRecorder {
  let hour = 0
  const counts = new Map<string, number>()
  return {
    async note(error) {
      if (!(error instanceof AppError) || error.code !== 'sign_in_failed') return
      const { email = '', factor = 'password' } = error.details.about ?? {}
      const user = await findUserByEmail(db, email.toLowerCase())
      const now = clock.now()
      if (Math.floor(now.getTime() / hourMs) !== hour) counts.clear()
      hour = Math.floor(now.getTime() / hourMs)
      const key = `${user?.id ?? 'unknown'} ${factor}`
      const attempts = (counts.get(key) ?? 0) + 1
      counts.set(key, attempts)
      if (!recordedCounts.has(attempts)) return
      await db.transaction(
        async (tx) =>
          await recordAction(tx, {
            by: { actor: 'anonymous' },
            action: 'user.sign_in_failed',
            merchantId: user?.merchant_id ?? null,
            recordId: user?.id ?? null,
            details: { attempts, factor },
            now,
          }),
      )
    },
  }
}

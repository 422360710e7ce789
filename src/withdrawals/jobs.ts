import { Gauge, type Registry } from 'prom-client'
import { Type } from 'typebox'
import { Value } from 'typebox/value'
import type { Db } from '../db/sql.ts'
import type { Job, JobSchedule } from '../jobs/jobs.ts'
import type { Clock } from '../lib/clock.ts'
import { checkOpenWithdrawals, checkReturnedWithdrawals, hasOpenWithdrawals } from './check.ts'
import { findPendingReviewSince } from './operator-store.ts'
import { sendJob, sendWithdrawal } from './send.ts'
import type { SettleWithdrawalDeps } from './settle.ts'

const SendPayload = Type.Object({ merchantId: Type.String(), id: Type.String() })

/** The worker's jobs for withdrawals. */
export function withdrawalJobs(deps: SettleWithdrawalDeps): Record<string, Job> {
  return {
    [sendJob]: async (payload) => await sendWithdrawal(deps, Value.Parse(SendPayload, payload)),
    'withdrawals.check': async (_, stopping) => await checkOpenWithdrawals(deps, stopping),
    'withdrawals.returns': async (_, stopping) => await checkReturnedWithdrawals(deps, stopping),
  }
}

export function withdrawalSchedules(deps: Pick<SettleWithdrawalDeps, 'db' | 'clock'>): Record<string, JobSchedule> {
  return {
    'withdrawals.check': { everySeconds: 5, isNeeded: async () => await hasOpenWithdrawals(deps) },
    'withdrawals.returns': { everySeconds: 30 },
  }
}

/** How long withdrawals wait for a person, read at each scrape. */
export function observeWithdrawals({ db, clock, registry }: { db: Db; clock: Clock; registry: Registry }): void {
  new Gauge({
    name: 'guiche_withdrawals_oldest_pending_review_seconds',
    help: 'How long the oldest withdrawal pending review has waited for a person; 0 while there is none',
    aggregator: 'max',
    registers: [registry],
    async collect() {
      const since = await findPendingReviewSince(db)
      this.set(since ? Math.max(0, clock.now().getTime() - since.getTime()) / 1000 : 0)
    },
  })
}

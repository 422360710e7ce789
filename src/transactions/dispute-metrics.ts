import { Gauge, type Registry } from 'prom-client'
import type { Acquirers } from '../acquirers/registry.ts'
import type { Db } from '../db/sql.ts'
import type { Clock } from '../lib/clock.ts'
import { countDisputes, findNextDeadline, sumBlocked, sumDebts } from './dispute-metrics-store.ts'
import { disputesCursor, notOfferedCursor, notOfferedMs } from './infraction-poll.ts'
import { findListedUntil } from './store.ts'

type Deps = { db: Db; clock: Clock; registry: Registry; acquirers: Pick<Acquirers, 'all'> }

/** What is disputed, blocked and owed, and whether the lists of disputes are read: asked when the metrics are. */
export function observeDisputes({ db, clock, registry, acquirers }: Deps): void {
  const gauge = (name: string, help: string, labelNames: string[], collect: (this: Gauge) => Promise<void>) =>
    new Gauge({ name, help, labelNames, aggregator: 'max', registers: [registry], collect })

  gauge('disputes', 'Disputes (MED) that are not over, by state', ['state'], async function () {
    const counts = await countDisputes(db)
    for (const [state, count] of Object.entries(counts)) this.set({ state }, count)
  })
  gauge('disputes_blocked_cents', 'Cents of payments that are blocked by disputes', [], async function () {
    this.set(await sumBlocked(db))
  })
  gauge(
    'disputes_next_deadline_seconds',
    'Unix time of the nearest deadline of an open dispute; 0 while there is none',
    [],
    async function () {
      this.set((await findNextDeadline(db)) ?? 0)
    },
  )
  gauge(
    'merchants_debt_cents',
    'Cents that merchants owe, because disputed payments had been spent',
    [],
    async function () {
      this.set(await sumDebts(db))
    },
  )
  const startedAt = clock.now()
  gauge(
    'disputes_list_age_seconds',
    'Seconds since all of an acquirer’s list of disputes was last read, or since the start where it never was; absent where it lists none',
    ['acquirer'],
    async function () {
      this.reset()
      for (const { name, infractions } of acquirers.all) {
        const since = infractions && (await findUnreadSince(db, name, { now: clock.now(), startedAt }))
        if (since) this.set({ acquirer: name }, Math.max(0, (clock.now().getTime() - since.getTime()) / 1000))
      }
    },
  )
}

/** Null where the acquirer has switched its list off. One that was never read is as old as this process: it must not look as if all were well. */
async function findUnreadSince(
  db: Db,
  acquirer: string,
  { now, startedAt }: { now: Date; startedAt: Date },
): Promise<Date | null> {
  const notOfferedAt = await findListedUntil(db, notOfferedCursor(acquirer))
  // It is asked again after this time, and the answer may take a while.
  if (notOfferedAt && now.getTime() - notOfferedAt.getTime() < 2 * notOfferedMs) return null
  return (await findListedUntil(db, disputesCursor(acquirer))) ?? notOfferedAt ?? startedAt
}

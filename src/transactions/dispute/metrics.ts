import { Gauge, type Registry } from 'prom-client'
import type { Acquirers } from '../../acquirers/registry.ts'
import type { Db } from '../../db/sql.ts'
import { dayOf } from '../../lib/brasilia.ts'
import type { Clock } from '../../lib/clock.ts'
import { findListedUntil } from '../cursor-store.ts'
import { completeCursor, disputesCursor, notOfferedCursor, notOfferedMs, unreadableCursor } from './poll.ts'
import { countDisputes, countOverdueDisputes, listDeadlines, sumBlocked, sumDebts } from './store.ts'

type Deps = { db: Db; clock: Clock; registry: Registry; acquirers: Pick<Acquirers, 'all'> }

/**
 * Metrics of disputed, blocked and owed money, and of the age of the acquirers' dispute lists; computed at each
 * scrape.
 */
export function observeDisputes({ db, clock, registry, acquirers }: Deps): void {
  const gauge = (name: string, help: string, labelNames: string[], collect: (this: Gauge) => Promise<void>) =>
    new Gauge({ name, help, labelNames, aggregator: 'max', registers: [registry], collect })

  gauge('guiche_disputes', 'Disputes (MED) in progress, by state', ['state'], async function () {
    const counts = await countDisputes(db)
    for (const [state, count] of Object.entries(counts)) this.set({ state }, count)
  })
  gauge('guiche_disputes_blocked_cents', 'Cents of payments that are blocked by disputes', [], async function () {
    this.set(await sumBlocked(db))
  })
  gauge(
    'guiche_disputes_deadline_in_seconds',
    'For each day (Brasília) with deadlines of open disputes whose defence is not sent: seconds until the next deadline; negative once all deadlines of the day have passed',
    ['day'],
    async function () {
      this.reset()
      const now = clock.now()
      for (const deadline of await listDeadlines(db, now))
        this.set({ day: dayOf(deadline) }, (deadline.getTime() - now.getTime()) / 1000)
    },
  )
  gauge(
    'guiche_disputes_overdue_seconds',
    'How long ago the oldest dispute that still blocks money should have ended: open for 18 days and past its deadline, or accepted and its payment 90 days old; 0 while there is none',
    [],
    async function () {
      const now = clock.now()
      const { first } = await countOverdueDisputes(db, { before: now, merchantId: null, limit: null })
      this.set(first ? (now.getTime() - first.getTime()) / 1000 : 0)
    },
  )
  gauge(
    'guiche_merchants_debt_cents',
    'Cents that merchants owe, for example because disputed payments had been spent',
    [],
    async function () {
      this.set(await sumDebts(db))
    },
  )
  const startedAt = clock.now()
  gauge(
    'guiche_disputes_list_age_seconds',
    'Seconds since an acquirer’s list of disputes was last read, or since the start if it never was; absent if it offers no list',
    ['acquirer'],
    async function () {
      const ages = new Map<string, number>()
      for (const { name, disputes } of acquirers.all) {
        const since = disputes && (await findUnreadSince(db, name, { now: clock.now(), startedAt }))
        if (since) ages.set(name, Math.max(0, (clock.now().getTime() - since.getTime()) / 1000))
      }
      setAll(this, ages)
    },
  )
  gauge(
    'guiche_disputes_unreadable',
    '1 while an acquirer’s list of disputes has entries that cannot be read, or whose payments cannot, 0 otherwise',
    ['acquirer'],
    async function () {
      const states = new Map<string, number>()
      for (const { name, disputes } of acquirers.all)
        if (disputes) states.set(name, Number(await hasUnreadable(db, name)))
      setAll(this, states)
    },
  )
}

/** Without an await between: two scrapes at once would otherwise lose values of each other. */
function setAll(gauge: Gauge<'acquirer'>, values: Map<string, number>): void {
  gauge.reset()
  for (const [acquirer, value] of values) gauge.set({ acquirer }, value)
}

/** Whether the last complete poll of its list, or one after it, met a dispute that cannot be read, or whose payment cannot. */
async function hasUnreadable(db: Db, acquirer: string): Promise<boolean> {
  const metAt = await findListedUntil(db, unreadableCursor(acquirer))
  const completeAt = await findListedUntil(db, completeCursor(acquirer))
  return metAt !== null && (completeAt === null || metAt >= completeAt)
}

/**
 * Null when the acquirer has switched its list off. A list that was never read counts from the start of this process,
 * so that the metric does not look healthy.
 */
async function findUnreadSince(
  db: Db,
  acquirer: string,
  { now, startedAt }: { now: Date; startedAt: Date },
): Promise<Date | null> {
  const notOfferedAt = await findListedUntil(db, notOfferedCursor(acquirer))
  // It is asked again after this time, and the response may take a while.
  if (notOfferedAt && now.getTime() - notOfferedAt.getTime() < 2 * notOfferedMs) return null
  return (await findListedUntil(db, disputesCursor(acquirer))) ?? notOfferedAt ?? startedAt
}

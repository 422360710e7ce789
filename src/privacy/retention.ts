import { setTimeout as sleep } from 'node:timers/promises'
import type { Db } from '../db/sql.ts'
import type { Job, JobSchedule } from '../jobs/jobs.ts'
import type { Clock } from '../lib/clock.ts'
import type { SecretKey } from '../lib/secrets.ts'
import { toErasedDocument } from './person.ts'
import * as store from './store.ts'

type Deps = { db: Db; clock: Clock; key: SecretKey; personalDataDays: number | null }

/** Rows in one commit: their locks are short. */
const chunkRows = 500
/** Half of the time belongs to others. */
const pauseMs = 50
const dayMs = 24 * 60 * 60_000

/** Erases customers and payers of transactions that are older than personal data is kept. Each merchant's transactions are gone through once. */
export function privacyJobs({ db, clock, key, personalDataDays }: Deps): Record<string, Job> {
  return {
    'privacy.erase-old': async (_, stopping) => {
      if (personalDataDays === null) return
      const before = new Date(clock.now().getTime() - personalDataDays * dayMs)
      for (const { merchant_id: merchantId, erased_until } of await store.listMerchantsToErase(db, before)) {
        for (let from = erased_until; !stopping.aborted; ) {
          const last = await eraseSome(db, { key, merchantId, from, before, now: clock.now() })
          if (!last) break
          from = last
          await sleep(pauseMs, undefined, { signal: stopping }).catch(() => {})
        }
      }
    },
  }
}

/** The creation time of the last one; null once there is none left. Those that are still open are looked at again the next day. */
async function eraseSome(
  db: Db,
  { key, merchantId, from, before, now }: { key: SecretKey; merchantId: string; from: Date; before: Date; now: Date },
): Promise<Date | null> {
  return await db.transaction(async (tx) => {
    const rows = await store.lockExpired(tx, { merchantId, from, before, limit: chunkRows })
    const ids = rows.map(({ id }) => id)
    const hashes = rows.map(({ customer_document: document }) => document && toErasedDocument(key, document))
    await store.eraseCustomers(tx, { ids, hashes, now })
    await store.erasePayers(tx, { ids, now })
    await store.eraseSnapshots(tx, { recordIds: ids, field: 'payer' })
    const last = rows.at(-1)?.created_at ?? null
    // Days back: one that was open then may have ended since.
    const until = last ?? new Date(before.getTime() - reopenedDays * dayMs)
    if (until > from) await store.saveErasedUntil(tx, merchantId, until)
    return last
  })
}

/** A charge and all that may follow from it, a dispute after 80 days included, ends within so many days. */
const reopenedDays = 180

export const privacySchedules: Record<string, JobSchedule> = { 'privacy.erase-old': { everySeconds: 86_400 } }

import type { Db, Tx } from '../db/sql.ts'
import type { Job, JobSchedule } from '../jobs/jobs.ts'
import type { Clock } from '../lib/clock.ts'
import type { SecretKey } from '../lib/secrets.ts'
import * as expiry from './expiry-store.ts'
import { toErasedDocument } from './person.ts'
import * as store from './store.ts'

type Deps = { db: Db; clock: Clock; key: SecretKey; personalDataDays: number | null }

/** Rows per commit: few, so that locks are short. */
const chunkRows = 500
const dayMs = 24 * 60 * 60_000

/**
 * Erases persons from records that have reached the retention period: customers, payers and sellers of transactions,
 * and what was written against their disputes; receivers of withdrawals; payers of payments that were in suspense. A
 * merchant's records are read from its cursor on, which stays at the oldest record that is still needed.
 */
export function privacyJobs({ db, clock, key, personalDataDays }: Deps): Record<string, Job> {
  return {
    'privacy.erase-old': async (_, stopping) => {
      if (personalDataDays === null) return
      const now = clock.now()
      const age = { before: new Date(now.getTime() - personalDataDays * dayMs), key, now }
      for (const recordType of ['transaction', 'withdrawal'] as const)
        for (const { merchantId, from } of await expiry.listMerchantsToErase(db, { recordType, before: age.before })) {
          const reached = await eraseAll(db, { records: recordsOf[recordType](merchantId), from, age, stopping })
          if (reached > from) await expiry.saveErasedUntil(db, { merchantId, recordType, until: reached })
        }
      await eraseAll(db, { records: suspenseRecords, from: new Date(0), age, stopping })
    },
  }
}

type Age = { before: Date; key: SecretKey; now: Date }

type Records = {
  /** The next records with personal data, oldest first, including those that are still needed. */
  list(tx: Tx, range: { after: expiry.Position; before: Date; limit: number }): Promise<expiry.Position[]>
  /** Erases those of these records that are final, old enough and not locked; returns their ids. */
  erase(tx: Tx, ids: string[], age: Age): Promise<string[]>
}

/**
 * Returns the time of the oldest record that was kept. If none was: the end of the range, or the time up to which
 * records were erased before the service stopped.
 */
async function eraseAll(
  db: Db,
  { records, from, age, stopping }: { records: Records; from: Date; age: Age; stopping: AbortSignal },
): Promise<Date> {
  let after: expiry.Position = { at: from, id: firstId }
  let oldestKept: Date | null = null
  while (!stopping.aborted) {
    const { listed, erased } = await db.transaction(async (tx) => {
      const places = await records.list(tx, { after, before: age.before, limit: chunkRows })
      const ids = places.map(({ id }) => id)
      return { listed: places, erased: new Set(await records.erase(tx, ids, age)) }
    })
    oldestKept ??= listed.find(({ id }) => !erased.has(id))?.at ?? null
    const last = listed.at(-1)
    if (!last) return oldestKept ?? age.before
    after = last
  }
  return oldestKept ?? after.at
}

/** Sorts before every other id. */
const firstId = '00000000-0000-0000-0000-000000000000'

const transactionRecords = (merchantId: string): Records => ({
  list: (tx, range) => expiry.listOldTransactions(tx, { merchantId, ...range }),
  async erase(tx, expired, { before, key, now }) {
    const rows = await expiry.lockOldTransactions(tx, { ids: expired, before })
    const ids = rows.map(({ id }) => id)
    const hashes = rows.map(({ customer_document: document }) => document && toErasedDocument(key, document))
    await store.eraseCustomers(tx, { ids, hashes, now })
    await store.erasePayers(tx, { ids, now })
    await store.eraseSellers(tx, { ids, now })
    await store.eraseDefences(tx, { ids, now })
    await store.erasePersonFromEvents(tx, { recordIds: ids, field: 'payer' })
    return ids
  },
})

const withdrawalRecords = (merchantId: string): Records => ({
  list: (tx, range) => expiry.listOldWithdrawals(tx, { merchantId, ...range }),
  async erase(tx, expired, { before, key, now }) {
    const rows = await expiry.lockOldWithdrawals(tx, { ids: expired, before })
    const ids = rows.map(({ id }) => id)
    // Hashed by the document, so that whoever has it finds the withdrawal again. A PIX key whose document is unknown
    // is hashed itself.
    const hashes = rows.map(({ pix_key, document }) => toErasedDocument(key, document ?? pix_key))
    await store.eraseReceivers(tx, { ids, hashes, now })
    await store.erasePersonFromEvents(tx, { recordIds: ids, field: 'receiver' })
    return ids
  },
})

const recordsOf = { transaction: transactionRecords, withdrawal: withdrawalRecords }

const suspenseRecords: Records = {
  list: (tx, range) => expiry.listOldSuspense(tx, range),
  async erase(tx, expired, { before }) {
    const ids = await expiry.lockOldSuspense(tx, { ids: expired, before })
    await store.eraseSuspensePayers(tx, ids)
    return ids
  },
}

export const privacySchedules: Record<string, JobSchedule> = { 'privacy.erase-old': { everySeconds: 86_400 } }

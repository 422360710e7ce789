import type { Logger } from 'pino'
import type { Db } from '../db/sql.ts'
import type { Clock } from '../lib/clock.ts'
import type { SecretKey } from '../lib/secrets.ts'
import type { createBudget } from './budget.ts'
import type { RecordVersion } from './payload.ts'
import { type Prepared, prepareDeliveries } from './prepare.ts'
import type { Claimed, OwnLease } from './queue-store.ts'
import type { LiveSecret } from './store.ts'

/** A delivery is reserved only if, this long ago or later, nothing was due to its receiver. */
const clearMaxAgeMs = 5_000

/** A reserved delivery. `record`: what GET returns now; null if it was not inserted, or nobody knows whether it was. */
type Reserved = { delivery: Claimed; record: object | null }

/**
 * Deliveries of events that this process commits: creations, payments and charges that fail. It leases them before they
 * are inserted and sends them from memory: nothing is claimed, and nothing is read again.
 */
export type OwnDeliveries = {
  /**
   * Null: others may be due to the receiver, which go first; it, or this process, has no capacity left for it; or the
   * worker stops. Then whoever claims the delivery sends it.
   */
  reserve(receiver: string): OwnLease | null
  /** Sends what is committed. If this process dies, the delivery is due again like any other that it has leased. */
  send(reserved: Reserved[], secrets: LiveSecret[]): void
}

type Deps = {
  db: Db
  key: SecretKey
  clock: Clock
  log: Pick<Logger, 'error'>
  budget: ReturnType<typeof createBudget>
  leaseMs: number
  /** The lease of something that is claimed now; null when nothing may be. */
  lease: () => (OwnLease & { now: Date }) | null
  start: (claimed: Claimed[], claimedAt: number, prepared: Prepared) => Promise<void>
  /** The worker does not end before this work. */
  track: (work: Promise<void>) => void
}

export function createOwnDeliveries(deps: Deps): OwnDeliveries {
  const { budget, clock, log } = deps

  return {
    reserve(receiver) {
      const lease = deps.lease()
      if (!lease || !budget.reserve(receiver, new Date(lease.now.getTime() - clearMaxAgeMs))) return null
      return lease
    },
    send(reserved, secrets) {
      const inserted = reserved.filter(({ delivery, record }) => {
        if (record === null) budget.release(delivery.receiver)
        return record !== null
      })
      if (inserted.length > 0) deps.track(sendFromMemory(inserted, secrets))
    },
  }

  async function sendFromMemory(reserved: Reserved[], secrets: LiveSecret[]): Promise<void> {
    const deliveries = reserved.map(({ delivery }) => delivery)
    const records = new Map(reserved.map(({ delivery, record }) => [delivery.recordId, record]))
    const load = async (versions: RecordVersion[]) => versions.map(({ recordId }) => records.get(recordId))
    // They were leased before the commit, which may have taken long.
    const leasedUntil = Math.min(...deliveries.map((delivery) => delivery.leasedUntil.getTime()))
    const claimedAt = performance.now() - (clock.now().getTime() + deps.leaseMs - leasedUntil)
    try {
      const prepared = await prepareDeliveries(
        { ...deps, secrets, loadRecords: { transaction: load } },
        deliveries,
      ).finally(() => {
        // They are leased again when they start.
        for (const { receiver } of deliveries) budget.release(receiver)
      })
      await deps.start(deliveries, claimedAt, prepared)
    } catch (error) {
      log.error({ err: error }, 'Webhook deliveries sent from memory wait until their lease expires')
    }
  }
}

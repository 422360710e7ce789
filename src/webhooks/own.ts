import type { Logger } from 'pino'
import type { Db } from '../db/sql.ts'
import type { Clock } from '../lib/clock.ts'
import type { SecretKey } from '../lib/secrets.ts'
import type { createBudget, Kind } from './budget.ts'
import type { RecordVersion } from './payload.ts'
import { type Prepared, prepareDeliveries } from './prepare.ts'
import type { Claimed, OwnLease } from './queue-store.ts'
import type { LiveSecret } from './store.ts'

/**
 * A reserved delivery of a transaction's event. `record`: what GET returns now for the transaction; null if the
 * delivery was not inserted, or nobody knows whether it was.
 */
type Reserved = { delivery: Claimed; record: object | null }

/**
 * Deliveries of events that this process commits: creations, payments and charges that fail. It leases them before they
 * are inserted and sends them from memory, without claiming them or reading them again.
 */
export type OwnDeliveries = {
  /**
   * Null if the receiver is not known or hangs; if it or this process has no capacity left; or if the worker stops. Then
   * whichever process claims the delivery sends it.
   */
  reserve(receiver: string): OwnLease | null
  /** Sends what is committed. If this process dies first, the deliveries are due again when their leases expire. */
  send(reserved: Reserved[], secrets: LiveSecret[]): void
}

type Deps = {
  db: Db
  key: SecretKey
  clock: Clock
  log: Pick<Logger, 'error'>
  budget: ReturnType<typeof createBudget>
  leaseMs: number
  /** A lease that begins now; null while the worker stops. */
  lease: () => OwnLease | null
  start: (kind: Kind, leased: Claimed[], claimedAt: number, prepared: Prepared) => Promise<void>
  /** The worker does not end before this work. */
  track: (work: Promise<void>) => void
}

export function createOwnDeliveries(deps: Deps): OwnDeliveries {
  const { budget, clock, log } = deps

  return {
    reserve(receiver) {
      const lease = deps.lease()
      return lease && budget.reserve(receiver) ? lease : null
    },
    send(reserved, secrets) {
      const inserted = reserved.filter(({ delivery, record }) => {
        if (record === null) budget.release(delivery.receiver, 'own')
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
        // Frees their part of the budget: `start` takes it again for those that can be sent.
        for (const { receiver } of deliveries) budget.release(receiver, 'own')
      })
      await deps.start('own', deliveries, claimedAt, prepared)
    } catch (error) {
      log.error(
        { err: error },
        'Webhook deliveries could not be sent from memory: they are claimed when their lease expires',
      )
    }
  }
}

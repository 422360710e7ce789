import type { Deliveries } from './deliver.ts'
import type { Claimed, OwnLease } from './queue-store.ts'
import type { Enqueued, LiveSecret } from './store.ts'

/**
 * What a change of records needs to send its webhooks: reserved deliveries are sent from memory, and for the others the
 * worker is woken.
 */
export type ChangeDeliveries = Pick<Deliveries, 'wake' | 'reserve' | 'send'>

/** Collects the deliveries that this process leases before a transaction inserts them, and sends after the commit. */
export type OwnEvents = {
  /**
   * A lease for a delivery to this receiver, which must be the first of its record in the commit. Null: whoever claims
   * the delivery sends it.
   */
  reserve(receiver: string): OwnLease | null
  /** Adds a delivery that was reserved. */
  lease(delivery: Claimed): void
  /** What was inserted. */
  enqueued(result: Enqueued): void
  /** What GET returns once the record's event is committed. Made only if its delivery is reserved. */
  setView(recordId: string, view: () => object): void
}

/**
 * Sends what a commit has reserved, once it is committed.
 *
 * @param deliveries null in a process that sends no webhooks: the service sends them
 */
export async function sendAfterCommit<Result>(
  deliveries: ChangeDeliveries | null,
  commit: (ownEvents: OwnEvents | null) => Promise<Result>,
): Promise<Result> {
  if (!deliveries) return await commit(null)
  const reserved: Claimed[] = []
  const secrets: LiveSecret[] = []
  const views = new Map<string, () => object>()
  const refused = new Set<string>()
  let isAnyUnleased = false
  const send = (isCommitted: boolean) => {
    const shown = reserved.map((delivery) => {
      const view = refused.has(delivery.id) ? null : views.get(delivery.recordId)
      return { delivery, record: isCommitted && view ? view() : null }
    })
    if (shown.length > 0) deliveries.send(shown, secrets)
  }
  const ownEvents: OwnEvents = {
    reserve: (receiver) => deliveries.reserve(receiver),
    lease: (delivery) => void reserved.push(delivery),
    enqueued(result) {
      secrets.push(...result.secrets)
      for (const id of result.refused) refused.add(id)
      isAnyUnleased ||= result.isAnyUnleased
    },
    setView: (recordId, view) => void views.set(recordId, view),
  }
  const result = await commit(ownEvents).catch((error: unknown) => {
    // If it was committed after all, they are claimed when their lease ends.
    send(false)
    throw error
  })
  send(true)
  if (isAnyUnleased) deliveries.wake()
  return result
}

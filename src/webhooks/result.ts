import type { Db } from '../db/sql.ts'
import { pipelined } from '../lib/concurrent.ts'
import type { Answer } from './attempt.ts'
import {
  type AttemptResult,
  type Claimed,
  followEndpoints,
  insertAttempts,
  type Lease,
  promoteWaiting,
} from './queue-store.ts'
import { nextAttempt } from './schedule.ts'

type When = { startedAt: Date; finishedAt: Date; random: number }

/** Turns a response into the next state of the delivery: delivered, tried again later, or given up. */
export function toResult(delivery: Claimed, answer: Answer, { startedAt, finishedAt, random }: When): AttemptResult {
  const made = delivery.attempts + 1 - delivery.attemptsBefore
  const next = nextAttempt({ made, now: finishedAt, retryAfter: answer.retryAfter, random })
  return {
    merchantId: delivery.merchantId,
    recordId: delivery.recordId,
    id: delivery.id,
    leasedUntil: delivery.leasedUntil,
    attemptsBefore: delivery.attemptsBefore,
    startedAt,
    finishedAt,
    durationMs: answer.durationMs,
    status: answer.status,
    error: answer.error,
    response: answer.response,
    state: stateAfter(answer, next),
    nextAttemptAt: next ?? finishedAt,
    retryAfter: answer.retryAfter,
  }
}

function stateAfter({ outcome }: Answer, next: Date | null): AttemptResult['state'] {
  if (outcome === 'success') return 'delivered'
  if (outcome === 'gone') return 'gone'
  return next === null ? 'exhausted' : 'pending'
}

/**
 * Records attempts and the new states of their deliveries in one commit, and makes the next delivery of each record
 * to the same address due. Says whether there was any.
 */
export function recordAttempts(db: Db, attempts: AttemptResult[]): Promise<boolean> {
  return db.transaction(async (tx) => {
    const finished = attempts.filter(({ state }) => state !== 'pending')
    const [, isAnyDue] = await pipelined(
      insertAttempts(tx, attempts),
      promoteWaiting(tx, { records: finished, now: latest(finished) }),
    )
    return isAnyDue
  })
}

/** Cancels or redirects deliveries whose endpoint has changed, and makes the next ones due. */
export function redirectDeliveries(db: Db, { leases, now }: { leases: Lease[]; now: Date }): Promise<void> {
  return db.transaction(async (tx) => {
    await pipelined(followEndpoints(tx, { leases, now }), promoteWaiting(tx, { records: leases, now }))
  })
}

function latest(attempts: AttemptResult[]): Date {
  return new Date(Math.max(...attempts.map(({ finishedAt }) => finishedAt.getTime())))
}

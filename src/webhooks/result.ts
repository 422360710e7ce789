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

/**
 * Turns the outcome of an attempt into the next state of the delivery: delivered, pending (tried again later),
 * exhausted (given up), or gone (the receiver answered 410).
 */
export function toResult(delivery: Claimed, answer: Answer, { startedAt, finishedAt, random }: When): AttemptResult {
  // Those since the retry schedule last started: a resend, or a newer event of the record, starts it again.
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
 * Records attempts and the new states of their deliveries in one commit. After a delivery that is not tried again, the
 * next one of the same record to the same endpoint becomes due. Returns whether any became due.
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

/**
 * Cancels or redirects deliveries whose endpoint has changed, and makes the next waiting ones of the same records due.
 */
export function redirectDeliveries(db: Db, { leases, now }: { leases: Lease[]; now: Date }): Promise<void> {
  return db.transaction(async (tx) => {
    await pipelined(followEndpoints(tx, { leases, now }), promoteWaiting(tx, { records: leases, now }))
  })
}

function latest(attempts: AttemptResult[]): Date {
  return new Date(Math.max(...attempts.map(({ finishedAt }) => finishedAt.getTime())))
}

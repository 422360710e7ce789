import { isLoopBusy } from '../lib/load.ts'
import { perReceiverMax, quickMs, totalMax } from './budget.ts'

export type DeliveryOptions = {
  /**
   * The shortest and the longest pause between polls. Polling finds deliveries that have become due, and events whose
   * process ended before it delivered them. The pause grows while no attempts are made.
   */
  pollMs: number
  pollMaxMs: number
  /** For one whole attempt. */
  deadlineMs: number
  /**
   * The deadline, plus time to build, start and record the attempt. After that, another worker may claim the delivery.
   */
  leaseMs: number
  /**
   * A claimed delivery that has waited longer than this is released instead of started: its attempt might outlast the
   * lease.
   */
  startMaxMs: number
  /** How long attempts in flight may continue after stop(). */
  graceMs: number
  /** See budget.ts. */
  perReceiverMax: number
  /** See budget.ts. */
  totalMax: number
  /** See budget.ts. */
  quickMs: number
  /** Whether requests wait for this process: then it sends fewer webhooks at once. */
  isBusy: () => boolean
  /** The most receivers that one claim checks; each costs two index lookups. */
  receiversMax: number
  /** The jitter of the next wait, from 0 to 1. Tests set it. */
  random: () => number
}

/** The deadline of a delivery, and of a test of an endpoint. */
export const deliveryDeadlineMs = 15_000

export const defaults: DeliveryOptions = {
  pollMs: 250,
  pollMaxMs: 2_000,
  deadlineMs: deliveryDeadlineMs,
  leaseMs: 20_000,
  startMaxMs: 2_000,
  graceMs: 5_000,
  perReceiverMax,
  totalMax,
  quickMs,
  isBusy: isLoopBusy,
  receiversMax: 1_000,
  random: Math.random,
}

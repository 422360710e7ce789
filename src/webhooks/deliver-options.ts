import type { Agent } from 'undici'
import { perReceiverMax, totalMax } from './budget.ts'

export type DeliveryOptions = {
  /**
   * Deliveries that became due, and events of a process that has ended, are seen within this time, and within
   * `pollMaxMs` when no attempt was made for a while.
   */
  pollMs: number
  pollMaxMs: number
  /** For one whole attempt. */
  deadlineMs: number
  /** The deadline, plus time to build, start and record the attempt. After it the worker counts as dead. */
  leaseMs: number
  /** A claim older than this is not started: it might outlive its lease. */
  startMaxMs: number
  /** How long attempts in flight may continue after stop(). */
  graceMs: number
  perReceiverMax: number
  totalMax: number
  /** Receivers that one claim scans, with two index probes each. */
  receiversMax: number
  random: () => number
  dialler: Agent | null
}

/** For a whole attempt. */
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
  receiversMax: 1_000,
  random: Math.random,
  dialler: null,
}

import { setTimeout as pause } from 'node:timers/promises'
import type pg from 'pg'
import type { Clock } from '../src/lib/clock.ts'
import type { Signer } from './payload.ts'
import type { ChargeRow, NetworkSecrets } from './store.ts'

/** As much of pino as is needed here. */
export type Log = { warn(data: object, message: string): void }

/** What every part of a running simulator works with. */
export type Network = {
  pool: pg.Pool
  clock: Clock
  log: Log
  /** Where this process is reached, without a slash at the end. */
  baseUrl: string
  secrets: NetworkSecrets
  signer: Signer
  /** True when the charge is new. */
  insertCharge(row: ChargeRow): Promise<boolean>
  /** Posts a callback and resolves with the status of the answer. */
  sendCallback(url: string, body: unknown): Promise<number>
  /** Does something after the answer. `close` waits for it. */
  inBackground(task: () => Promise<void>): void
  /** Aborted when the simulator closes: every pause ends at once. */
  closing: AbortSignal
}

/** Waits, and resolves with false when the simulator closed meanwhile. */
export async function waited(network: Network, ms: number): Promise<boolean> {
  try {
    await pause(ms, undefined, { signal: network.closing, ref: false })
    return true
  } catch {
    return false
  }
}

import { setTimeout as pause } from 'node:timers/promises'
import type pg from 'pg'
import type { Clock } from '../src/lib/clock.ts'
import type { FaultProfileStore } from './faults/profile-store.ts'
import type { HttpRequest } from './http.ts'
import type { Signer } from './payload.ts'
import type { NewPix, PixFilter, PixRow } from './pix-store.ts'
import type { Quirks } from './quirks.ts'
import type { Shared } from './shared.ts'
import type { ChargeRow, ChargeWithPixes, NetworkSecrets, WebhookRow } from './store.ts'
import type { TokenLimit } from './token-limit.ts'

/**
 * Posts a callback and resolves with the status of the answer. With `isAnonymous` it shows no certificate: a PSP checks
 * that way whether the address requires one.
 */
export type SendCallback = (url: string, body: unknown, how?: { isAnonymous: boolean }) => Promise<number>

/** The part of pino's interface that the simulator uses. */
export type Log = { warn(data: object, message: string): void }

/** Everything that the parts of a running simulator share. */
export type Network = {
  pool: pg.Pool
  clock: Clock
  log: Log
  /** The address of this process, without a final slash. */
  baseUrl: string
  secrets: NetworkSecrets
  signer: Signer
  /** Its fault profile: honest unless it was changed. */
  faultProfile: FaultProfileStore
  // Frequent operations. All but `readPix` share statements with concurrent ones.
  /** True when the charge is new. */
  insertCharge(row: ChargeRow): Promise<boolean>
  findCharge(id: string): Promise<ChargeWithPixes | null>
  /** Stores a payment; false when its charge is already paid, or was removed. */
  insertPix(pix: NewPix): Promise<boolean>
  /** Every address that the network has had: the directory of participants. */
  listBaseUrls(nothing: undefined): Promise<string[]>
  /** One page of a list of Pix, and the total of all pages. Pages count from zero. */
  readPix(filter: PixFilter, place: { page: number; pageSize: number }): Promise<{ total: number; rows: PixRow[] }>
  /** The address for callbacks about the receiver's key. */
  webhook: Shared<WebhookRow | null>
  /** This PSP's differences from the standard. */
  quirks: Quirks
  tokenLimit: TokenLimit
  /** The scopes of a request's token. Null without a valid token. */
  readScopes(request: HttpRequest): string[] | null
  /** The developer's token for the sandbox controls, accepted in place of a token of the PSP. Null if there is none. */
  controlToken: string | null
  sendCallback: SendCallback
  /** Runs a task after the answer. `close` waits for it. */
  inBackground(task: () => Promise<void>): void
  /** Aborted when the simulator closes, which ends every pause. */
  closing: AbortSignal
}

/** The longest timer: 31 bits of milliseconds, 24 days. */
export const timerMsMax = 2 ** 31 - 1

/** Resolves with true after the wait, or with false as soon as the simulator closes. */
export async function waitUnlessClosed(network: Network, ms: number): Promise<boolean> {
  try {
    await pause(ms, undefined, { signal: network.closing, ref: false })
    return true
  } catch {
    return false
  }
}

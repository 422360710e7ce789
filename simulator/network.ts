import { setTimeout as pause } from 'node:timers/promises'
import type pg from 'pg'
import type { Clock } from '../src/lib/clock.ts'
import type { HttpRequest } from './http.ts'
import type { Signer } from './payload.ts'
import type { Nature } from './personality/nature.ts'
import type { NewPix, PixFilter, PixRow } from './pix-store.ts'
import type { Quirks } from './quirks.ts'
import type { Shared } from './shared.ts'
import type { ChargeRow, ChargeWithPixes, NetworkSecrets, WebhookRow } from './store.ts'
import type { TokenLimit } from './token-limit.ts'

/**
 * Posts a callback and resolves with the status of the answer. Anonymous, it shows no certificate, as a PSP tries whether
 * the address wants one.
 */
export type SendCallback = (url: string, body: unknown, how?: { isAnonymous: boolean }) => Promise<number>

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
  /** How it behaves: honestly, unless it was told otherwise. */
  nature: Nature
  // What is asked for often, by many at a time: each shares a statement with the others.
  /** True when the charge is new. */
  insertCharge(row: ChargeRow): Promise<boolean>
  findCharge(id: string): Promise<ChargeWithPixes | null>
  /** Marks a charge as paid; false when it was already. */
  insertPix(pix: NewPix): Promise<boolean>
  /** Every address under which the network has been reached: the participants' directory of this small world. */
  listBaseUrls(nothing: undefined): Promise<string[]>
  /** A page of a list of Pix, and how many there are in all of them. Pages count from zero. */
  readPix(filter: PixFilter, of: { page: number; pageSize: number }): Promise<{ total: number; rows: PixRow[] }>
  /** Where the callbacks about the receiver's key are posted. */
  webhook: Shared<WebhookRow | null>
  /** In what this PSP differs from the standard. */
  quirks: Quirks
  tokenLimit: TokenLimit
  /** The scopes of a request's token; null where it has none that counts. */
  readScopes(request: HttpRequest): string[] | null
  /** What the network's developer may show in place of a token of the PSP; null where there is none. */
  controlToken: string | null
  sendCallback: SendCallback
  /** Does something after the answer. `close` waits for it. */
  inBackground(task: () => Promise<void>): void
  /** Aborted when the simulator closes: every pause ends at once. */
  closing: AbortSignal
}

/** A timer takes no more than 31 bits of milliseconds: 24 days. */
export const timerMsMax = 2 ** 31 - 1

/** Waits, and resolves with false when the simulator closed meanwhile. */
export async function waited(network: Network, ms: number): Promise<boolean> {
  try {
    await pause(ms, undefined, { signal: network.closing, ref: false })
    return true
  } catch {
    return false
  }
}

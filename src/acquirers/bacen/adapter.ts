import { type Clock, systemClock } from '../../lib/clock.ts'
import type { AccountHolder } from '../../pix/holder.ts'
import type { Acquirer } from '../acquirer.ts'
import { readCallback, registerCallback } from './callback.ts'
import { createCharge, findCharge } from './charge.ts'
import { type Credentials, createClient } from './client.ts'
import type { Send } from './http.ts'
import { findPayment, listPayments } from './payments.ts'

export type BacenOptions = {
  name: string
  /** Over HTTP (`createHttpSend`), or straight into a PSP in this process. */
  send: Send
  credentials: Credentials
  /** The Pix key that charges credit. */
  chave: string
  /** Who holds the account behind it. */
  receiver: AccountHolder
  isRemote: boolean
  /** For each question, the token that it may need included. */
  timeoutMs?: number
  /** Tells when the token is to be renewed. */
  clock?: Clock
}

const timeoutMsDefault = 10_000

/** The adapter to any PSP that speaks the Central Bank's API Pix. */
export function createBacenAcquirer(options: BacenOptions): Acquirer {
  const { name, send, credentials, chave, receiver, isRemote } = options
  const timeoutMs = options.timeoutMs ?? timeoutMsDefault
  const client = createClient({ send, credentials, timeoutMs, clock: options.clock ?? systemClock })
  const deps = { client, chave, receiver }
  return {
    name,
    isRemote,
    receiver,
    createCharge: (input) => createCharge(deps, input),
    findCharge: (txid) => findCharge(deps, txid),
    findPayment: (endToEndId) => findPayment(deps, endToEndId),
    listPayments: (range) => listPayments(deps, range),
    registerCallback: (url) => registerCallback(deps, url),
    readCallback,
  }
}

import { type Clock, systemClock } from '../../lib/clock.ts'
import type { AccountHolder } from '../../pix/holder.ts'
import type { Acquirer } from '../acquirer.ts'
import type { Breaker } from '../breaker.ts'
import { type CallbackAccess, toCallbackAccess } from '../callbacks.ts'
import { createReadBalance } from './balance.ts'
import { readCallback, registerCallback, registerPayoutCallback } from './callback.ts'
import { createCharge, findCharge, removeCharge } from './charge.ts'
import { createClient } from './client.ts'
import { createDisputes } from './disputes.ts'
import type { Send } from './http.ts'
import { findPayment, listPayments } from './payments.ts'
import { createEfiPayouts } from './payout.ts'
import { createInterPayouts } from './payout-inter.ts'
import { createSicoobPayouts } from './payout-sicoob.ts'
import { type ProtocolProfileOverrides, standardProfile, withOverrides } from './profile.ts'
import { findRefund, refund } from './refund.ts'
import type { LiveTls, Log } from './renewal.ts'
import type { Credentials } from './token.ts'

export type BacenOptions = {
  name: string
  /** Over HTTP (`createHttpSend`), or directly into a PSP in this process. */
  send: Send
  credentials: Credentials
  /** The Pix key that charges credit. */
  chave: string
  /** The holder of the account behind the key. */
  receiver: AccountHolder
  isRemote: boolean
  /** Where this PSP differs from the standard. */
  profile?: ProtocolProfileOverrides
  /** For each call, including the token that it may need. A request that sends money may have longer (`profile`). */
  timeoutMs?: number
  /** How often a request is sent until its outcome is known; one that sends money is repeated only after a 401. */
  triesMax?: number
  breaker?: Breaker
  tls?: LiveTls | null
  log?: Log
  fees?: Acquirer['fees']
  callbacks?: CallbackAccess
  /** For the renewal of the token, and for events that the PSP reports without a time. */
  clock?: Clock
}

const timeoutMsDefault = 10_000
const payoutApis = { efi: createEfiPayouts, inter: createInterPayouts, sicoob: createSicoobPayouts }

/** The adapter to any PSP that speaks the Central Bank's API Pix. */
export function createBacenAcquirer(options: BacenOptions): Acquirer {
  const { name, send, credentials, chave, receiver, isRemote } = options
  const timeoutMs = options.timeoutMs ?? timeoutMsDefault
  const clock = options.clock ?? systemClock
  const { breaker, tls } = options
  const profile = withOverrides(standardProfile, options.profile ?? {})
  const client = createClient({
    send,
    credentials,
    profile,
    timeoutMs,
    triesMax: options.triesMax ?? 1,
    clock,
    guard: breaker?.guard ?? ((call) => call()),
    onFewerScopes: (missing) =>
      options.log?.warn({ acquirer: name, missing }, 'the acquirer grants fewer scopes than were requested'),
  })
  const { paths, list, offers, registrationHeaders, charge: chargeFields } = profile
  const unknownStates = new Set<string>()
  const onUnknownState = (state: string) => {
    // Once for each state: a payout is checked many times.
    if (unknownStates.has(state)) return
    unknownStates.add(state)
    options.log?.warn({ acquirer: name, state }, 'a payout is in an unknown state: it counts as processing')
  }
  const onTextsRefused = (status: number) =>
    options.log?.warn({ acquirer: name, status }, 'the acquirer took a charge only without its texts')
  const deps = { client, chave, receiver, clock, paths, list, registrationHeaders, chargeFields, onTextsRefused }
  return {
    name,
    isRemote,
    receiver,
    chargeKey: chave,
    isAvailable: () => breaker?.isClosed() ?? true,
    isPausing: () => breaker?.isPausing() ?? false,
    certificate: tls?.current().expiresAt ? { expiresAt: () => tls.current().expiresAt } : null,
    fees: options.fees ?? { payment: null, payout: null },
    callbacks: options.callbacks ?? toCallbackAccess(),
    createCharge: (input) => createCharge(deps, input),
    findCharge: (txid) => findCharge(deps, txid),
    removeCharge: (txid) => removeCharge(deps, txid),
    findPayment: (endToEndId) => findPayment(deps, endToEndId),
    listPayments: (range) => listPayments(deps, range),
    refund: (input) => refund(deps, input),
    findRefund: (id) => findRefund(deps, id),
    readBalance: createReadBalance(deps, offers.balance),
    payouts: offers.payouts ? payoutApis[profile.payoutApi]({ ...deps, onUnknownState }) : null,
    disputes: offers.disputes ? createDisputes(deps, offers) : null,
    registerCallback: async (url) => {
      await registerCallback(deps, url)
      if (offers.payouts && profile.payoutApi !== 'efi') await registerPayoutCallback(deps, url)
    },
    readCallback: (body, onSkipped) => readCallback(deps, body, onSkipped),
  }
}

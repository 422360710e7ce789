import { Balances } from './balance.ts'
import { createClient } from './client.ts'
import { Deliveries, Events } from './events.ts'
import type { Settings } from './http.ts'
import { Sandbox } from './sandbox.ts'
import { Statement } from './statement.ts'
import { createTokens, useTokens } from './token.ts'
import { Transactions } from './transactions.ts'
import { Withdrawals } from './withdrawals.ts'

/** How to reach the service, and as whom. */
export type GuicheOptions = {
  /** Where the service is, such as `https://pix.example.com`. */
  baseUrl: string
  /** For one try, in milliseconds; 30 seconds by default. */
  timeoutMs?: number
  /**
   * How often a call is tried again where that is safe: after no answer, 429, 500, 502, 503 or 504, with pauses that grow. 4 by default, which is
   * some six seconds; 0 turns it off.
   */
  maxRetries?: number
  /** In place of the platform's own `fetch`: to log requests, or to go through a proxy. */
  fetch?: typeof globalThis.fetch
} & (
  | {
      /** As `npx guiche client create` gave it, or `data/sandbox.json` has it. */
      clientId: string
      /** Belongs on a server, never in a page or an app. */
      clientSecret: string
      accessToken?: never
    }
  | {
      clientId?: never
      clientSecret?: never
      /** Gives an access token that you got elsewhere, at each call; null sends none. */
      accessToken: () => string | null | Promise<string | null>
    }
)

const timeoutMsDefault = 30_000
const maxRetriesDefault = 4

/**
 * A client of one Guichê service. Make one and keep it: it holds the access token and renews it in time.
 *
 * Amounts are integers in cents, dates text in ISO 8601. Every method throws a `GuicheError` when the service refuses, and a
 * `ConnectionError` when it does not answer.
 *
 * @example
 * ```ts
 * const guiche = new Guiche({ baseUrl: 'https://pix.example.com', clientId, clientSecret })
 * const { id, pixResponse } = await guiche.transactions.create({ amount: 2590, externalCode: 'order-2026-0001' })
 * ```
 */
export class Guiche {
  /** Charging by PIX: create, fetch, list, refund. Scopes: `transaction.read`, `transaction.write`, `refund.write`. */
  readonly transactions: Transactions
  /** Paying out by PIX. Scopes: `withdrawal.read`, `withdrawal.write`. */
  readonly withdrawals: Withdrawals
  /** What there is, now or at a past moment. Scope: `balance.read`. */
  readonly balance: Balances
  /** What changed the available balance. Scope: `balance.read`. */
  readonly statement: Statement
  /** Every change of a status. Scope: `webhook.read`. */
  readonly events: Events
  /** How webhooks were delivered, and delivering them again. Scopes: `webhook.read`, `webhook.write`. */
  readonly deliveries: Deliveries
  /** The other side of the counter, while the acquirer is the simulator: payers, their banks and receivers of withdrawals. */
  readonly sandbox: Sandbox

  constructor(options: GuicheOptions) {
    const settings: Settings = {
      baseUrl: readBaseUrl(options.baseUrl),
      timeoutMs: options.timeoutMs ?? timeoutMsDefault,
      maxRetries: options.maxRetries ?? maxRetriesDefault,
      // Called as a function: browsers refuse one that is called as a member of something else.
      fetch: options.fetch ?? ((...request) => fetch(...request)),
    }
    const client = createClient(settings, tokensOf(settings, options))
    this.transactions = new Transactions(client)
    this.withdrawals = new Withdrawals(client)
    this.balance = new Balances(client)
    this.statement = new Statement(client)
    this.events = new Events(client)
    this.deliveries = new Deliveries(client)
    this.sandbox = new Sandbox(client)
  }
}

function tokensOf(settings: Settings, { clientId, clientSecret, accessToken }: GuicheOptions) {
  if (accessToken) return useTokens(accessToken)
  if (clientId && clientSecret) return createTokens(settings, { clientId, clientSecret })
  throw new TypeError('Guiche needs clientId and clientSecret, or accessToken. Is an environment variable not set?')
}

function readBaseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null
  // Not shown: it may have a password in it.
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash)
    throw new TypeError('baseUrl must be an http or https address without credentials, such as https://pix.example.com')
  return url.href.replace(/\/+$/, '')
}

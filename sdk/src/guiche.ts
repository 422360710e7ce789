import { Balances } from './balance.ts'
import { createClient } from './client.ts'
import { Deliveries, Events } from './events.ts'
import type { Settings } from './http.ts'
import { Sandbox } from './sandbox.ts'
import { Statement } from './statement.ts'
import { createTokens, tokensFrom } from './token.ts'
import { Transactions } from './transactions.ts'
import { WebhookEndpoints } from './webhook-endpoints.ts'
import { Withdrawals } from './withdrawals.ts'

/** The address of the service, and the credentials for it. */
export type GuicheOptions = {
  /** The address of the service, such as `https://pix.example.com`. */
  baseUrl: string
  /** Time limit of one try, in milliseconds. 30,000 by default. */
  timeoutMs?: number
  /**
   * How many times a call is retried where that is safe: after no answer, 408, 429, 500, 502, 503 or 504, with growing
   * pauses. 4 by default, whose pauses take about six seconds in total. 0 disables retries.
   */
  maxRetries?: number
  /** Used instead of the platform's `fetch`: to log requests, or to use a proxy. */
  fetch?: typeof globalThis.fetch
} & (
  | {
      /** As `npx guiche client create` printed it, or from `data/sandbox.json`. */
      clientId: string
      /** Keep it on a server, never in a page or an app. */
      clientSecret: string
      accessToken?: never
    }
  | {
      clientId?: never
      clientSecret?: never
      /** Called for each request, for an access token that you got elsewhere. `null` sends no token. */
      accessToken: () => string | null | Promise<string | null>
    }
)

const timeoutMsDefault = 30_000
const maxRetriesDefault = 4

/**
 * A client of one Guichê service. Make one and keep it: it holds the access token and renews it in time.
 *
 * Amounts are integers in cents, dates text in ISO 8601. Every method throws a `GuicheError` when the service refuses,
 * and a `ConnectionError` when it does not answer.
 *
 * @example
 * ```ts
 * const guiche = new Guiche({ baseUrl: 'https://pix.example.com', clientId, clientSecret })
 * const { id, pixResponse } = await guiche.transactions.create({ amount: 2590, externalCode: 'order-2026-0001' })
 * ```
 */
export class Guiche {
  /** Charging by PIX: create, list, refund, cancel. Scopes: `transaction.read`, `transaction.write`, `refund.write`. */
  readonly transactions: Transactions
  /** Paying out by PIX. Scopes: `withdrawal.read`, `withdrawal.write`. */
  readonly withdrawals: Withdrawals
  /** The balance, now or at a past time. Scope: `balance.read`. */
  readonly balance: Balances
  /** Everything that changed the available balance. Scope: `balance.read`. */
  readonly statement: Statement
  /**
   * Status changes of transactions and withdrawals. Scopes: `webhook.read`, and for payloads also `transaction.read`
   * and `withdrawal.read`.
   */
  readonly events: Events
  /** Webhook deliveries, and delivering an event again. Scopes: `webhook.read`, `webhook.write`. */
  readonly deliveries: Deliveries
  /**
   * Addresses that receive the events of all transactions and withdrawals. Scopes: `webhook.read`, `webhook.write`.
   */
  readonly webhookEndpoints: WebhookEndpoints
  /**
   * Controls of the simulated PIX network, if the acquirer is the simulator: payers, their banks and receivers of
   * withdrawals. Scopes: `transaction.write`, `withdrawal.write`.
   */
  readonly sandbox: Sandbox

  constructor(options: GuicheOptions) {
    const settings: Settings = {
      baseUrl: readBaseUrl(options.baseUrl),
      timeoutMs: options.timeoutMs ?? timeoutMsDefault,
      maxRetries: options.maxRetries ?? maxRetriesDefault,
      // Called as a plain function: browsers refuse a `fetch` that is called as a method of another object.
      fetch: options.fetch ?? ((...request) => fetch(...request)),
    }
    const client = createClient(settings, tokensOf(settings, options))
    this.transactions = new Transactions(client)
    this.withdrawals = new Withdrawals(client)
    this.balance = new Balances(client)
    this.statement = new Statement(client)
    this.events = new Events(client)
    this.deliveries = new Deliveries(client)
    this.webhookEndpoints = new WebhookEndpoints(client)
    this.sandbox = new Sandbox(client)
  }
}

function tokensOf(settings: Settings, { clientId, clientSecret, accessToken }: GuicheOptions) {
  if (accessToken) return tokensFrom(accessToken)
  if (clientId && clientSecret) return createTokens(settings, { clientId, clientSecret })
  throw new TypeError('Guiche needs clientId and clientSecret, or accessToken. Is an environment variable missing?')
}

function readBaseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null
  // The message does not show the URL, which may contain a password.
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || /[?#]/.test(text))
    throw new TypeError(
      'baseUrl must be an http or https address without credentials, query or fragment, such as https://pix.example.com',
    )
  return url.href.replace(/\/+$/, '')
}

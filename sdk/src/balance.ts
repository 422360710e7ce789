import type { Client } from './client.ts'
import type { RequestOptions } from './http.ts'
import type { Balance, BalanceQuery } from './types.ts'

/** What there is. */
export class Balances {
  readonly #client: Client

  constructor(client: Client) {
    this.#client = client
  }

  /** In cents: available, reserved, blocked and owed; now, or as it was `at` a past moment. */
  get(query?: BalanceQuery, options?: RequestOptions): Promise<Balance> {
    return this.#client.get('/balance', options, query)
  }
}

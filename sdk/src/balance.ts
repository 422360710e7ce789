import type { Client } from './client.ts'
import type { RequestOptions } from './http.ts'
import type { Balance, BalanceQuery } from './types.ts'

/** The balance of the merchant. */
export class Balances {
  readonly #client: Client

  constructor(client: Client) {
    this.#client = client
  }

  /** The balance now, or at the past time `at`: available, reserved, blocked and owed, in cents. */
  get(query?: BalanceQuery, options?: RequestOptions): Promise<Balance> {
    return this.#client.get('/balance', options, query)
  }
}

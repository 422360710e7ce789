import type { Client } from './client.ts'
import type { RequestOptions } from './http.ts'
import type { List } from './list.ts'
import type { StatementEntry, StatementFilters } from './types.ts'

/** Everything that changed the available balance. */
export class Statement {
  readonly #client: Client

  constructor(client: Client) {
    this.#client = client
  }

  /** Entries, newest first; amounts in cents, each with the balance after it. */
  list(filters?: StatementFilters, options?: RequestOptions): List<StatementEntry> {
    return this.#client.list('/statement', filters, options)
  }

  /**
   * All matching entries as CSV (RFC 4180), amounts in cents. The body arrives as you read it: `await answer.text()`,
   * or pipe `answer.body`.
   */
  export(filters?: Omit<StatementFilters, 'page' | 'perPage' | 'cursor'>, options?: RequestOptions): Promise<Response> {
    return this.#client.exportCsv('/statement', filters, options)
  }
}

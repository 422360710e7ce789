import { type Client, toSegment } from './client.ts'
import type { RequestOptions } from './http.ts'
import type { List } from './list.ts'
import type { Delivery, DeliveryFilters, EventFilters, EventSummary, Resent } from './types.ts'

/** Status changes of transactions and withdrawals. */
export class Events {
  readonly #client: Client

  constructor(client: Client) {
    this.#client = client
  }

  /** Events of all records, newest first. */
  list(filters?: EventFilters, options?: RequestOptions): List<EventSummary> {
    return this.#client.list('/event', filters, options)
  }
}

/** Webhook deliveries and their attempts. */
export class Deliveries {
  readonly #client: Client

  constructor(client: Client) {
    this.#client = client
  }

  /** Deliveries, newest first, with their attempts of the last 30 days. */
  list(filters?: DeliveryFilters, options?: RequestOptions): List<Delivery> {
    return this.#client.list('/webhook/delivery', filters, options)
  }

  /**
   * Delivers an event again, with the full series of attempts. The SDK does not retry this call: each call may deliver
   * once more.
   */
  resend(eventId: string, options?: RequestOptions): Promise<Resent> {
    return this.#client.post(`/webhook/delivery/${toSegment(eventId)}/resend`, options)
  }
}

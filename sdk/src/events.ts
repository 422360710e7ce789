import { type Client, toSegment } from './client.ts'
import { ConnectionError, GuicheError } from './errors.ts'
import type { FeedEvent, FeedPage, FeedQuery, WebhookEvent } from './event-types.ts'
import { pause, type RequestOptions } from './http.ts'
import type { List } from './list.ts'
import type { Delivery, DeliveryFilters, EventFilters, EventSummary, Resent } from './types.ts'

/** Where to begin, and which events. */
export type FollowQuery = Omit<FeedQuery, 'after' | 'limit' | 'wait'> & {
  /**
   * The saved position: `event.position` of the last event that you processed. `start` by default; `end` skips the
   * past.
   */
  after?: string | undefined
}

export type FollowOptions = RequestOptions & {
  /** Called each time the service cannot be reached, fails or is overloaded. `follow` then tries again. */
  onInterruption?: ((error: GuicheError) => void) | undefined
}

/** The longest that the service accepts. */
const waitSecondsMax = 20
const followTimeoutMs = 30_000
const firstPauseMs = 1_000
const longestPauseMs = 30_000
/** So that a wrong Retry-After does not stop the events for long. */
const longestRetryAfterMs = 3_600_000

/** Status changes of transactions and withdrawals. */
export class Events {
  readonly #client: Client

  constructor(client: Client) {
    this.#client = client
  }

  /**
   * Follows the feed for ever: every event once, in order, as soon as it is committed. The order per record is that of
   * its changes. Save `event.position` when you have processed the event, in the same transaction if you can, and begin
   * there after a restart.
   *
   * While the service cannot be reached, fails or is overloaded, it tries again, with growing pauses of up to half a
   * minute, or as long as the service asks for, up to an hour.
   *
   * @throws {GuicheError} `position_unknown` if the feed does not have the position: the service's database was
   * restored to an earlier moment, or the position is from elsewhere
   * @example
   * ```ts
   * let after = await loadPosition() // null at the first start
   * for await (const event of guiche.events.follow({ after: after ?? 'start' })) {
   *   // This event comes again, for example after a partial refund: ship each order only once.
   *   if (event.type === 'transaction.paid') await shipOnce(event.data.externalCode, event.data.amountPaid)
   *   await savePosition(event.position)
   * }
   * ```
   */
  async *follow(
    query: FollowQuery = {},
    { onInterruption, ...options }: FollowOptions = {},
  ): AsyncGenerator<FeedEvent, void, undefined> {
    const { after = 'start', ...filters } = query
    const timeoutMs = options.timeoutMs ?? followTimeoutMs
    // If there is no event, the service answers only when the wait is over. That must be well within the time limit.
    const wait = Math.min(waitSecondsMax, Math.floor(timeoutMs / 1500))
    let pauseMs = firstPauseMs
    for (let position = after; ; ) {
      let retryAfterMs = 0
      const startedAt = performance.now()
      try {
        const page = await this.read({ ...filters, after: position, wait }, { ...options, timeoutMs })
        yield* page.data
        position = page.next
        pauseMs = firstPauseMs
        // An empty page without the wait: the service already holds too many waiting requests or is shutting down, or
        // the time limit is too short for a wait.
        if (page.data.length > 0 || page.hasMore || performance.now() - startedAt > firstPauseMs) continue
      } catch (error) {
        if (!isInterruption(error)) throw error
        onInterruption?.(error)
        retryAfterMs = Math.min(longestRetryAfterMs, 1000 * (error.retryAfterSeconds ?? 0))
      }
      await pause(Math.max(pauseMs, retryAfterMs), options.signal)
      pauseMs = Math.min(longestPauseMs, 2 * pauseMs)
    }
  }

  /** One page of the feed, oldest first: the events after a position. Read on from its `next`. */
  read(query: FeedQuery, options?: RequestOptions): Promise<FeedPage> {
    return this.#client.get('/event', options, query)
  }

  /** One event, as its webhook has it. */
  get(eventId: string, options?: RequestOptions): Promise<WebhookEvent> {
    return this.#client.get(`/event/${toSegment(eventId)}`, options)
  }

  /**
   * Events of all transactions and withdrawals, newest first, each with the state of its delivery to the record's
   * `webhookUrl`.
   */
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

  /** Deliveries, newest first, with their attempts, as long as those are kept. */
  list(filters?: DeliveryFilters, options?: RequestOptions): List<Delivery> {
    return this.#client.list('/webhook/delivery', filters, options)
  }

  /**
   * Delivers an event again, with the full series of attempts: to every address that it was sent to, or to the endpoint
   * `endpointId`. The SDK does not repeat this call after a lost answer: each call may deliver once more.
   */
  resend(eventId: string, options?: RequestOptions & { endpointId?: string | undefined }): Promise<Resent> {
    const query = options?.endpointId === undefined ? '' : `?endpointId=${toSegment(options.endpointId)}`
    return this.#client.post(`/webhook/delivery/${toSegment(eventId)}/resend${query}`, options)
  }
}

/** True if the same request can succeed later. */
function isInterruption(error: unknown): error is GuicheError {
  if (!(error instanceof GuicheError)) return false
  return error instanceof ConnectionError || /^(408|429|5)/.test(`${error.status}`)
}

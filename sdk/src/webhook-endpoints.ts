import { type Client, toSegment } from './client.ts'
import type { RequestOptions } from './http.ts'
import type { List } from './list.ts'
import type {
  CreateWebhookEndpointBody,
  UpdateWebhookEndpointBody,
  WebhookEndpoint,
  WebhookEndpointCreated,
  WebhookEndpointFilters,
  WebhookEndpointSecret,
  WebhookTest,
} from './types.ts'

/**
 * Addresses that receive the events of your transactions and withdrawals, in addition to the `webhookUrl` of a
 * single transaction or withdrawal. Each has its own filter of event types and its own secret.
 */
export class WebhookEndpoints {
  readonly #client: Client

  constructor(client: Client) {
    this.#client = client
  }

  /**
   * Registers an address. Only this answer contains the secret that verifies its deliveries. The SDK does not repeat
   * the call if its answer is lost: that would register a second endpoint.
   */
  create(input: CreateWebhookEndpointBody, options?: RequestOptions): Promise<WebhookEndpointCreated> {
    return this.#client.post('/webhook-endpoint', options, { body: input })
  }

  /** Endpoints, newest first. */
  list(filters?: WebhookEndpointFilters, options?: RequestOptions): List<WebhookEndpoint> {
    return this.#client.list('/webhook-endpoint', filters, options)
  }

  /** One endpoint. */
  get(id: string, options?: RequestOptions): Promise<WebhookEndpoint> {
    return this.#client.get(`/webhook-endpoint/${toSegment(id)}`, options)
  }

  /** Changes an endpoint, or disables or enables it. Fields that are left out stay as they are. */
  update(id: string, input: UpdateWebhookEndpointBody, options?: RequestOptions): Promise<WebhookEndpoint> {
    return this.#client.patch(`/webhook-endpoint/${toSegment(id)}`, options, input)
  }

  /** Deletes an endpoint. Its deliveries that are not finished are canceled. */
  delete(id: string, options?: RequestOptions): Promise<void> {
    return this.#client.delete(`/webhook-endpoint/${toSegment(id)}`, options)
  }

  /**
   * Makes a new secret. The former one also signs for `overlapHours`, 24 by default. Give your own `secretId`, a UUID
   * of version 4, and repeat the call with it if the answer is lost. With another id, or none, the call is a second
   * rotation: the secret that your receivers still use ends at once, since only the newest two secrets sign. The SDK
   * repeats the call after a lost answer only if it has a `secretId`.
   */
  rotateSecret(
    id: string,
    {
      overlapHours,
      secretId,
      ...options
    }: RequestOptions & { overlapHours?: number | undefined; secretId?: string | undefined } = {},
  ): Promise<WebhookEndpointSecret> {
    const body = { ...(overlapHours !== undefined && { overlapHours }), ...(secretId !== undefined && { secretId }) }
    const isRepeatable = secretId !== undefined
    return this.#client.post(`/webhook-endpoint/${toSegment(id)}/secret`, options, { body, isRepeatable })
  }

  /** Sends a signed test event, `webhook.test`, at once, and returns whether and how the receiver answered. */
  test(id: string, options?: RequestOptions): Promise<WebhookTest> {
    return this.#client.post(`/webhook-endpoint/${toSegment(id)}/test`, options)
  }
}

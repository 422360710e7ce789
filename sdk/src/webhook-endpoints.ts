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
 * Addresses that receive the events of all records, beside the `webhookUrl` that a record may have. Each has a filter
 * and a secret of its own.
 */
export class WebhookEndpoints {
  readonly #client: Client

  constructor(client: Client) {
    this.#client = client
  }

  /**
   * Registers an address, and returns the secret that verifies its deliveries, only here. The SDK does not repeat
   * this call after a lost answer: the secret of the first endpoint was in that answer.
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

  /** Deletes an endpoint. What waits for it is canceled. */
  delete(id: string, options?: RequestOptions): Promise<void> {
    return this.#client.delete(`/webhook-endpoint/${toSegment(id)}`, options)
  }

  /**
   * Makes a new secret. The former one also signs for `overlapHours`, 24 by default. Give your own `secretId`, a UUID
   * of version 4, and repeat the call with it if its answer was lost: otherwise the next call ends the secret in use.
   * After a lost answer the SDK repeats only a call that has one.
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

  /** Sends a signed test of the type `webhook.test` at once, and returns the receiver's answer. */
  test(id: string, options?: RequestOptions): Promise<WebhookTest> {
    return this.#client.post(`/webhook-endpoint/${toSegment(id)}/test`, options)
  }
}

import { type NewClient, registerClient } from './auth/clients.ts'
import type { Scope } from './auth/scopes.ts'
import type { Tx } from './db/sql.ts'
import type { Clock } from './lib/clock.ts'
import type { SecretKey } from './lib/secrets.ts'
import { createWebhookSecret } from './webhooks/secrets.ts'

/**
 * Creates a merchant: an API client with its secret, and the secret that signs its webhooks. The secrets are shown only
 * once.
 */
export async function createMerchant(
  tx: Tx,
  deps: { clock: Clock; key: SecretKey },
  input: { name: string; scopes: Scope[]; clientId?: string; merchantId?: string; madeBy?: string },
): Promise<NewClient & { webhookSecret: string }> {
  const client = await registerClient(tx, deps, input)
  const webhookSecret = await createWebhookSecret(tx, {
    key: deps.key,
    merchantId: client.merchantId,
    now: deps.clock.now(),
  })
  return { ...client, webhookSecret }
}

import { randomBytes, randomUUID } from 'node:crypto'
import { type By, recordAction } from '../audit/record.ts'
import { endSecrets } from '../db/secrets.ts'
import type { Db, Tx } from '../db/sql.ts'
import { invalidField, refusal } from '../lib/errors.ts'
import { type SecretKey, seal, unseal } from '../lib/secrets.ts'
import { secretPrefix } from './sign.ts'
import { insertWebhookSecret, type LiveSecret, listLiveSecrets, lockMerchant, webhookSecrets } from './store.ts'

/**
 * How long the former secret still signs after a rotation: enough for a working day to install the new one at every
 * receiver.
 */
export const overlapMs = 24 * 60 * 60 * 1000

/**
 * `endpointId`: the endpoint whose deliveries the secret signs. Without it, the secret signs the deliveries to the URLs
 * of the merchant's records.
 */
type Input = { key: SecretKey; merchantId: string; endpointId?: string; id?: string; now: Date }

/**
 * Creates a webhook secret of a client or an endpoint, and ends no other. The plaintext is returned only here; the
 * database holds it encrypted.
 */
export async function createWebhookSecret(
  db: Db | Tx,
  { key, merchantId, endpointId, id = randomUUID(), now }: Input,
): Promise<string> {
  const secret = secretPrefix + randomBytes(32).toString('base64')
  const sealed = seal(key, 'webhook-secret', secret)
  await insertWebhookSecret(db, {
    merchantId,
    endpointId: endpointId ?? null,
    id,
    sealed,
    createdAt: now,
  })
  return secret
}

/**
 * Creates a new secret. The one before it also signs for the length of the overlap, and any older one ends now: at
 * most two are active, so that `webhook-signature` stays short and rotating often cannot keep a leaked secret active.
 *
 * @param id of the new secret; with that of the current one, its rotation is repeated: see {@link endSecrets}
 * @throws {AppError} `change_not_possible`, or `validation_failed` for an endpoint, if another secret of the merchant
 *   has this id
 */
export function rotateWebhookSecret(
  db: Db,
  input: Input & { overlapMs?: number; by: By | null },
): Promise<{ secret: string; formerExpiresAt: Date }> {
  return db.transaction(async (tx) => {
    // The client's row is the lock: otherwise two concurrent rotations would leave three active secrets.
    const { merchantId, endpointId = null, id = randomUUID(), now, by } = input
    const clientId = await lockMerchant(tx, merchantId)
    const lastsMs = input.overlapMs ?? overlapMs
    const details = { overlapHours: lastsMs / 3_600_000, ...(clientId && { clientId }) }
    const action = endpointId === null ? 'client.rotate-webhook-secret' : 'webhook-endpoint.rotate-secret'
    await recordAction(tx, { action, merchantId, recordId: endpointId ?? merchantId, details, by, now })
    const until = new Date(now.getTime() + lastsMs)
    const refused =
      endpointId === null
        ? refusal('change_not_possible', 'changed', 'The secret was rotated meanwhile.')
        : invalidField('secretId', 'duplicate', 'is the id of a former secret, or of one of another endpoint')
    const formerExpiresAt = await endSecrets(tx, { ...webhookSecrets(merchantId, endpointId), id, now, until, refused })
    return { secret: await createWebhookSecret(tx, { ...input, id }), formerExpiresAt }
  })
}

/**
 * Returns the secrets that sign now, newest first: by merchant, and by endpoint for those of endpoints. One statement
 * for any number of merchants.
 */
export async function findSigningSecrets(
  db: Db | Tx,
  { key, merchantIds, now }: { key: SecretKey; merchantIds: string[]; now: Date },
): Promise<Map<string, string[]>> {
  return toSigningSecrets(key, await listLiveSecrets(db, { merchantIds, now }))
}

/** The same for secrets that were read already; one that cannot be decrypted is left out. */
export function toSigningSecrets(key: SecretKey, live: LiveSecret[]): Map<string, string[]> {
  const found = new Map<string, string[]>()
  for (const { merchantId, endpointId, sealed } of live) {
    const owner = endpointId ?? merchantId
    const secret = tryUnseal(key, sealed)
    if (secret !== null) found.set(owner, [...(found.get(owner) ?? []), secret])
  }
  return found
}

/** Cache of decrypted secrets: claims need the same few secrets again and again, and decrypting one takes 10 µs. */
const unsealed = new WeakMap<SecretKey, Map<string, string>>()
const unsealedMax = 1_000

/**
 * A secret that is damaged, or encrypted with another key, affects its own client and must not stop anyone else's
 * deliveries.
 */
function tryUnseal(key: SecretKey, sealed: Buffer): string | null {
  const known = unsealed.get(key) ?? new Map<string, string>()
  unsealed.set(key, known)
  const name = sealed.toString('latin1')
  try {
    const cached = known.get(name)
    if (cached !== undefined) return cached
    const secret = unseal(key, 'webhook-secret', sealed)
    if (known.size >= unsealedMax) known.clear()
    known.set(name, secret)
    return secret
  } catch {
    return null
  }
}

import { randomBytes, randomUUID } from 'node:crypto'
import type { Db, Tx } from '../db/sql.ts'
import { type SecretKey, seal, unseal } from '../lib/secrets.ts'
import { secretPrefix } from './sign.ts'
import { endWebhookSecrets, insertWebhookSecret, listLiveSecrets, lockClient } from './store.ts'

/** How long the former secret goes on signing after a rotation: a working day to bring the new one to every receiver. */
export const overlapMs = 24 * 60 * 60 * 1000

type Input = { key: SecretKey; merchantId: string; now: Date }

/** A client's first webhook secret. The plaintext is returned this once; the database holds it sealed. */
export async function createWebhookSecret(db: Db | Tx, { key, merchantId, now }: Input): Promise<string> {
  const secret = secretPrefix + randomBytes(32).toString('base64')
  const sealed = seal(key, 'webhook-secret', secret)
  await insertWebhookSecret(db, { merchantId, id: randomUUID(), sealed, createdAt: now })
  return secret
}

/**
 * A new secret; the one before it goes on signing beside it for the overlap, and any still older one ends now: at most
 * two are alive, so that a `webhook-signature` stays short and a leaked secret cannot be kept alive by rotating often.
 */
export function rotateWebhookSecret(db: Db, input: Input & { overlapMs?: number }): Promise<string> {
  return db.transaction(async (tx) => {
    // The client's row is the lock: two rotations at once would else leave three secrets alive.
    await lockClient(tx, input.merchantId)
    const until = new Date(input.now.getTime() + (input.overlapMs ?? overlapMs))
    await endWebhookSecrets(tx, { merchantId: input.merchantId, now: input.now, until })
    return createWebhookSecret(tx, input)
  })
}

/** The secrets that sign now, newest first, by merchant. One statement for any number of merchants. */
export async function findSigningSecrets(
  db: Db | Tx,
  { key, merchantIds, now }: { key: SecretKey; merchantIds: string[]; now: Date },
): Promise<Map<string, string[]>> {
  const found = new Map<string, string[]>()
  for (const { merchantId, sealed } of await listLiveSecrets(db, { merchantIds, now })) {
    const secret = tryUnseal(key, sealed)
    if (secret !== null) found.set(merchantId, [...(found.get(merchantId) ?? []), secret])
  }
  return found
}

/** What was unsealed before: a claim asks for the same few secrets again and again, and unsealing takes 10 µs. */
const unsealed = new WeakMap<SecretKey, Map<string, string>>()
const unsealedMax = 1_000

/** A secret that was damaged, or sealed under another key, is its client's trouble and must not stop anyone else's deliveries. */
function tryUnseal(key: SecretKey, sealed: Buffer): string | null {
  const known = unsealed.get(key) ?? new Map<string, string>()
  unsealed.set(key, known)
  const name = sealed.toString('latin1')
  try {
    const secret = known.get(name) ?? unseal(key, 'webhook-secret', sealed)
    if (known.size >= unsealedMax) known.clear()
    known.set(name, secret)
    return secret
  } catch {
    return null
  }
}

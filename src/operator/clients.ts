import { type By, recordAction } from '../audit/record.ts'
import { refusedClientId, rotateClientSecret } from '../auth/clients.ts'
import type { Scope } from '../auth/scopes.ts'
import type { KnownClient } from '../auth/store.ts'
import type { Db } from '../db/sql.ts'
import { assert } from '../lib/assert.ts'
import type { Clock } from '../lib/clock.ts'
import type { SecretKey } from '../lib/secrets.ts'
import { createMerchant } from '../merchant.ts'
import { rotateWebhookSecret } from '../webhooks/secrets.ts'

type Deps = { db: Db; clock: Clock; key: SecretKey }

/**
 * Creates an API client, which is one merchant. Its secrets are returned only here. With an external provider
 * (AUTH_ISSUER) the client secret of Guichê would be useless: it is not returned.
 *
 * @throws {AppError} `validation_failed`
 */
export async function createClient(
  deps: Deps & { hasProvider: boolean },
  { name, scopes, clientId, by }: { name: string; scopes: Scope[]; clientId?: string | undefined; by: By },
) {
  const { db, clock, hasProvider } = deps
  if (hasProvider && clientId === undefined)
    throw refusedClientId(
      'required',
      'must be the client id at the external provider',
      'AUTH_ISSUER is set: give the id that the client has at that provider.',
    )
  const { clientSecret, ...created } = await db.transaction(async (tx) => {
    const made = await createMerchant(tx, deps, { name, scopes, ...(clientId && { clientId }), madeBy: by.actor })
    const { merchantId } = made
    const details = { clientId: made.clientId, scopes }
    await recordAction(tx, { by, action: 'client.create', merchantId, recordId: merchantId, details, now: clock.now() })
    return made
  })
  return hasProvider ? created : { ...created, clientSecret }
}

type Rotation = { client: KnownClient; of: 'client' | 'webhook'; id?: string; overlapHours: number; by: By }

/**
 * Gives a client a new secret, or a new one that signs its webhooks. The former one is valid during the overlap.
 *
 * @param id of the new secret. If the current secret has this id, its rotation is repeated
 * @throws {AppError} `change_not_possible` if a former secret has this id
 */
export async function rotateSecret(
  deps: Deps,
  { client, of, id, overlapHours, by }: Rotation,
): Promise<{ secret: string; formerExpiresAt: string }> {
  const { db, clock, key } = deps
  const overlapMs = overlapHours * 3_600_000
  if (of === 'webhook') {
    const now = clock.now()
    const { merchant_id: merchantId } = client
    const made = await rotateWebhookSecret(db, { key, merchantId, ...(id && { id }), now, overlapMs, by })
    return { secret: made.secret, formerExpiresAt: made.formerExpiresAt.toISOString() }
  }
  const made = await rotateClientSecret(deps, { clientId: client.client_id, ...(id && { id }), overlapMs, by })
  assert(made, 'a client that was found exists')
  return { secret: made.clientSecret, formerExpiresAt: made.formerExpiresAt.toISOString() }
}

export function toClientView(row: KnownClient) {
  return {
    clientId: row.client_id,
    merchantId: row.merchant_id,
    name: row.name,
    scopes: row.scopes,
    isActive: row.has_secret,
    createdAt: row.created_at.toISOString(),
    movedTo:
      row.moved_to_cell === null || row.moved_to_address === null
        ? null
        : { cell: row.moved_to_cell, address: row.moved_to_address },
    tokensRefusedBefore: row.not_before?.toISOString() ?? null,
  }
}

import { randomUUID } from 'node:crypto'
import type { Static } from 'typebox'
import { type By, recordAction } from '../../audit/record.ts'
import type { Db, Tx } from '../../db/sql.ts'
import { enqueueJob } from '../../jobs/jobs.ts'
import type { Clock } from '../../lib/clock.ts'
import { AppError, invalidField } from '../../lib/errors.ts'
import type { SecretKey } from '../../lib/secrets.ts'
import { receiverOf } from '../outbox.ts'
import { createWebhookSecret, overlapMs, rotateWebhookSecret } from '../secrets.ts'
import { lockMerchant } from '../store.ts'
import { applyEndpointChangeJob } from './jobs.ts'
import { allTypes, type ChangeEndpointBody, type CreateEndpointBody } from './schema.ts'
import {
  countEndpoints,
  type EndpointRow,
  findEndpoint,
  insertEndpoint,
  lockEndpoint,
  markDeleted,
  updateEndpoint,
} from './store.ts'

/** No shop has this many systems. Each event is matched against all of a merchant's endpoints. */
export const endpointsMax = 16

type Deps = { db: Db; clock: Clock; key: SecretKey }
type Target = { merchantId: string; endpointId: string; by: By | null }
/** Throws if the caller may not receive events of these types; null: all. */
type AssertMay = (eventTypes: string[] | null) => void

/**
 * Registers an endpoint: from now on it receives the merchant's events of the selected types. Its secret is returned
 * only here.
 */
export async function createEndpoint(
  { db, clock, key }: Deps,
  {
    merchantId,
    input,
    by,
    assertMayReceive = () => {},
  }: { merchantId: string; input: Static<typeof CreateEndpointBody>; by: By | null; assertMayReceive?: AssertMay },
): Promise<{ row: EndpointRow; secret: string }> {
  return await db.transaction(async (tx) => {
    // Otherwise two concurrent requests could exceed the limit.
    await lockMerchant(tx, merchantId)
    if ((await countEndpoints(tx, merchantId)) >= endpointsMax) throw tooMany()
    const now = clock.now()
    const row: EndpointRow = {
      ...{ merchant_id: merchantId, id: randomUUID(), url: input.url, receiver: receiverOf(input.url) },
      ...{ description: input.description ?? '', event_types: toStored(input.eventTypes ?? [allTypes]) },
      ...{ created_at: now, updated_at: now, failing_since: null, disabled_at: null, disabled_reason: null },
    }
    assertMayReceive(row.event_types)
    if (!(await insertEndpoint(tx, row))) throw alreadyRegistered()
    await recordAction(tx, {
      by,
      action: 'webhook-endpoint.create',
      merchantId,
      recordId: row.id,
      details: detailsOf(row),
      now,
    })
    return { row, secret: await createWebhookSecret(tx, { key, merchantId, endpointId: row.id, now }) }
  })
}

/**
 * Changes an endpoint. If its URL changes, its unfinished deliveries go to the new one. If it is disabled, it receives
 * no more events, and its unfinished deliveries are canceled. If it is enabled again, it receives the events from then
 * on.
 */
export async function changeEndpoint(
  { db, clock }: Deps,
  {
    merchantId,
    endpointId,
    input,
    by,
    assertMayReceive = () => {},
  }: Target & { input: Static<typeof ChangeEndpointBody>; assertMayReceive?: AssertMay },
): Promise<EndpointRow> {
  return await db.transaction(async (tx) => {
    // Otherwise, if two endpoints got the same URL at once, one change would fail with the error of the unique index.
    await lockMerchant(tx, merchantId)
    const before = await lockEndpoint(tx, { merchantId, endpointId })
    if (!before) throw unknownEndpoint()
    const now = clock.now()
    const url = input.url ?? before.url
    const isEnabledAgain = input.enabled === true && before.disabled_at !== null
    const row: EndpointRow = {
      ...before,
      ...{ url, receiver: receiverOf(url), updated_at: now },
      ...(input.description !== undefined && { description: input.description }),
      ...(input.eventTypes && { event_types: toStored(input.eventTypes) }),
      ...((isEnabledAgain || url !== before.url) && { failing_since: null }),
      ...(isEnabledAgain && { disabled_at: null, disabled_reason: null }),
      // The reason becomes `request` even if Guichê had disabled the endpoint. This ends the alert, which lists only
      // endpoints that Guichê itself has disabled.
      ...(input.enabled === false && { disabled_at: before.disabled_at ?? now, disabled_reason: 'request' }),
    }
    if (input.url !== undefined || input.eventTypes || isEnabledAgain) assertMayReceive(row.event_types)
    if (!(await updateEndpoint(tx, row))) throw alreadyRegistered()
    const details = { ...detailsOf(row), isDisabled: row.disabled_at !== null }
    await recordAction(tx, { by, action: 'webhook-endpoint.change', merchantId, recordId: endpointId, details, now })
    await enqueueEndpointChange(tx, row)
    return row
  })
}

/** Removes an endpoint. Its unfinished deliveries are canceled. */
export async function deleteEndpoint({ db, clock }: Deps, { merchantId, endpointId, by }: Target): Promise<void> {
  await db.transaction(async (tx) => {
    const row = await lockEndpoint(tx, { merchantId, endpointId })
    if (!row) throw unknownEndpoint()
    const now = clock.now()
    await markDeleted(tx, { merchantId, endpointId, now })
    await recordAction(tx, {
      by,
      action: 'webhook-endpoint.delete',
      merchantId,
      recordId: endpointId,
      details: detailsOf(row),
      now,
    })
    await enqueueEndpointChange(tx, row)
  })
}

/**
 * Gives an endpoint a new secret. The former one also signs until the overlap ends. A request with the same `secretId`
 * repeats this rotation: see {@link rotateWebhookSecret}.
 */
export async function rotateEndpointSecret(
  { db, clock, key }: Deps,
  {
    merchantId,
    endpointId,
    overlapHours = overlapMs / 3_600_000,
    secretId: id,
    by,
  }: Target & { overlapHours?: number | undefined; secretId?: string | undefined },
): Promise<{ secret: string; formerExpiresAt: Date }> {
  if (!(await findEndpoint(db, { merchantId, endpointId }))) throw unknownEndpoint()
  const now = clock.now()
  const secret = { merchantId, endpointId, ...(id && { id }) }
  return await rotateWebhookSecret(db, { key, ...secret, now, overlapMs: overlapHours * 3_600_000, by })
}

/** Enqueues, in this transaction, the job that applies the change to the deliveries that wait for their next attempt. */
export async function enqueueEndpointChange(
  tx: Tx,
  { merchant_id: merchantId, id: endpointId }: EndpointRow,
): Promise<void> {
  await enqueueJob(tx, {
    name: applyEndpointChangeJob,
    key: `${applyEndpointChangeJob} ${endpointId}`,
    payload: { merchantId, endpointId },
  })
}

/** For the audit log: of the URL only its origin, because its path and query may hold secrets. */
export function detailsOf({ receiver, event_types }: EndpointRow) {
  return { receiver, eventTypes: event_types ?? [allTypes] }
}

export function unknownEndpoint(): AppError {
  return new AppError('not_found', { detail: 'There is no webhook endpoint with this id.' })
}

function toStored(types: string[]): string[] | null {
  return types.includes(allTypes) ? null : types
}

function alreadyRegistered(): AppError {
  const message = 'is registered already: change the endpoint that has it'
  return invalidField('url', 'duplicate', message)
}

function tooMany(): AppError {
  const message = `cannot be added: a merchant has at most ${endpointsMax} endpoints. Delete one that is no longer used`
  return invalidField('url', 'too_many', message, { limit: endpointsMax })
}

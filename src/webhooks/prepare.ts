import type { Logger } from 'pino'
import type { Db } from '../db/sql.ts'
import type { Clock } from '../lib/clock.ts'
import type { SecretKey } from '../lib/secrets.ts'
import { type EndpointState, listEndpointStates } from './endpoints/store.ts'
import { buildBodies, type LoadRecords } from './payload.ts'
import type { Claimed } from './queue-store.ts'
import { findSigningSecrets, toSigningSecrets } from './secrets.ts'
import type { LiveSecret } from './store.ts'

type Deps = {
  db: Db
  key: SecretKey
  clock: Clock
  loadRecords: LoadRecords
  log: Pick<Logger, 'error'>
  /** Read already, with the commit that inserted the deliveries; otherwise they are read here. */
  secrets?: LiveSecret[]
}

export type Sendable = {
  delivery: Claimed
  body: Buffer
  secrets: string[]
  /** Null: it goes to the `webhookUrl` of the transaction or withdrawal. */
  endpoint: EndpointState | null
}

/** `changed`: their endpoint receives no more events, or has another address by now. */
export type Prepared = { sendable: Sendable[]; changed: Claimed[] }

/**
 * Reads what claimed deliveries need. One without a secret or a body is left out: it is claimed again when its lease
 * expires.
 */
export async function prepareDeliveries(
  { db, key, clock, loadRecords, log, secrets }: Deps,
  claimed: Claimed[],
): Promise<Prepared> {
  const merchantIds = [...new Set(claimed.map(({ merchantId }) => merchantId))]
  const endpointIds = [...new Set(claimed.flatMap(({ endpointId }) => endpointId ?? []))]
  const [endpoints, secretsOf, bodies] = await Promise.all([
    endpointIds.length === 0 ? [] : listEndpointStates(db, { merchantIds, endpointIds }),
    secrets ? toSigningSecrets(key, secrets) : findSigningSecrets(db, { key, merchantIds, now: clock.now() }),
    buildBodies(loadRecords, claimed, ({ merchantId, eventId }, error) => {
      // It does not count as an attempt: the error is ours.
      log.error({ merchantId, eventId, err: error }, 'The payload of a webhook could not be built')
    }),
  ])
  const endpointOf = new Map(endpoints.map((endpoint) => [endpoint.id, endpoint]))
  const sendable: Sendable[] = []
  const changed: Claimed[] = []
  for (const [index, delivery] of claimed.entries()) {
    const { merchantId, endpointId, url } = delivery
    const endpoint = endpointId === null ? null : (endpointOf.get(endpointId) ?? null)
    const signing = secretsOf.get(endpointId ?? merchantId)
    const body = bodies[index]
    if (endpoint && (!endpoint.isActive || endpoint.url !== url)) changed.push(delivery)
    else if (!signing) log.error({ merchantId, endpointId }, 'There is no webhook secret to sign with')
    else if (body) sendable.push({ delivery, body, secrets: signing, endpoint })
  }
  return { sendable, changed }
}

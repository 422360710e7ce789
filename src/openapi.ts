import { pino } from 'pino'
import { Registry } from 'prom-client'
import { receiverAccount, receiverKey, simulatorCredentials } from '../simulator/receiver-account.ts'
import { createBacenAcquirer } from './acquirers/bacen/adapter.ts'
import { createRegistry } from './acquirers/registry.ts'
import { createApp } from './app.ts'
import { readConfig } from './config.ts'
import { connect } from './db/sql.ts'
import { assert } from './lib/assert.ts'
import { systemClock } from './lib/clock.ts'
import { newSecretKey, parseSecretKey } from './lib/secrets.ts'
import { version } from './version.ts'

/** The OpenAPI document of the API, with the sandbox's routes. Needs no database, because the server never listens. */
export async function describeApi(): Promise<object> {
  const key = parseSecretKey(newSecretKey())
  assert(key, 'a new key can be read')
  const acquirer = createBacenAcquirer({
    name: 'none',
    send: refuseRequest,
    credentials: simulatorCredentials,
    chave: receiverKey,
    receiver: receiverAccount,
    isRemote: true,
  })
  const db = connect({ connectionString: 'postgresql://nowhere.invalid/', connectionsMax: 1, onError: () => {} })
  const app = await createApp({
    config: readConfig({}),
    db,
    reads: db,
    instance: 0,
    clock: systemClock,
    key,
    log: pino({ level: 'silent' }),
    registry: new Registry(),
    acquirers: createRegistry([acquirer]),
    baseUrl: 'http://127.0.0.1:3000',
    version,
    shared: null,
    timedJobs: () => [],
    sandbox: {
      pay: refuseRequest,
      openDispute: refuseRequest,
      decideDispute: refuseRequest,
      returnUnannounced: refuseRequest,
      returnPayout: refuseRequest,
      personality: refuseRequest,
      waiting: refuseRequest,
      advance: refuseRequest,
      serve: null,
    },
    deliveries: null,
    workOn: () => {},
  })
  const document = (await app.inject('/openapi.json')).json<object>()
  await app.close()
  return document
}

/** The routes are described, never called. */
function refuseRequest(): Promise<never> {
  return Promise.reject(new Error('the API is only described here'))
}

import type { Logger } from 'pino'
import { request } from 'undici'
import { receiverAccount, receiverKey, simulatorCredentials } from '../simulator/receiver-account.ts'
import { createSimulator } from '../simulator/simulator.ts'
import type { Acquirer } from './acquirers/acquirer.ts'
import { createBacenAcquirer } from './acquirers/bacen/adapter.ts'
import { createHttpSend, type Send } from './acquirers/bacen/http.ts'
import type { Config } from './config.ts'
import type { Db } from './db/sql.ts'
import type { Clock } from './lib/clock.ts'
import { cents } from './lib/money.ts'
import type { Sandbox } from './sandbox/routes.ts'

/** The simulated Pix network as acquirer, in this process or at SIMULATOR_URL: through the same adapter as any PSP. */
export type SimulatedNetwork = { acquirer: Acquirer; sandbox: Sandbox; close(): Promise<void> }

export const simulatorName = 'simulator'

type Options = {
  config: Config
  db: Db
  clock: Clock
  log: Logger
  baseUrl: string
  /** Posts to a path of this service, in place of a socket. */
  postHere: (path: string, body: unknown) => Promise<number>
}

export async function openSimulatedNetwork(options: Options): Promise<SimulatedNetwork> {
  const { simulatorUrl } = options.config
  return simulatorUrl === null ? await openHere(options) : openRemote(simulatorUrl, options)
}

async function openHere({ db, clock, log, baseUrl, postHere }: Options): Promise<SimulatedNetwork> {
  const simulator = await createSimulator({
    pool: db.pool,
    clock,
    publicBaseUrl: baseUrl,
    // Several processes share one simulator's state, and each is told of the payments that were made at itself.
    sendCallback: async (url, body) => await postHere(new URL(url).pathname, body),
    log,
  })
  return {
    acquirer: toAcquirer({ send: simulator.handle, isRemote: false, clock }),
    sandbox: {
      pay: async ({ uri, amount, payer }) =>
        await simulator.pay({ uri, ...(amount !== undefined && { amount: cents(amount) }), ...(payer && { payer }) }),
      serve: async (path) => await simulator.handle({ method: 'GET', path, query: {}, headers: {}, body: undefined }),
    },
    close: async () => await simulator.close(),
  }
}

function openRemote(url: string, { clock }: Options): SimulatedNetwork {
  const { send, close } = createHttpSend({ baseUrl: url })
  return {
    acquirer: toAcquirer({ send, isRemote: true, clock }),
    sandbox: { pay: async (payment) => await payOverHttp(url, payment), serve: null },
    close,
  }
}

function toAcquirer(options: { send: Send; isRemote: boolean; clock: Clock }): Acquirer {
  return createBacenAcquirer({
    ...options,
    name: simulatorName,
    credentials: simulatorCredentials,
    chave: receiverKey,
    receiver: receiverAccount,
    offers: { payouts: true, infractions: true },
  })
}

async function payOverHttp(url: string, payment: Parameters<Sandbox['pay']>[0]): ReturnType<Sandbox['pay']> {
  const { clientId, clientSecret } = simulatorCredentials
  const token = await request(`${url}/oauth/token`, {
    method: 'POST',
    body: 'grant_type=client_credentials',
    headers: {
      authorization: `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`,
      'content-type': 'application/x-www-form-urlencoded',
    },
  })
  const { access_token: accessToken } = (await token.body.json()) as { access_token: string }
  const answer = await request(`${url}/sandbox/payment`, {
    method: 'POST',
    body: JSON.stringify(payment),
    headers: { authorization: `Bearer ${accessToken}`, 'content-type': 'application/json' },
  })
  const body = (await answer.body.json()) as {
    endToEndId?: string
    detail?: string
    violacoes?: { propriedade: string }[]
  }
  if (body.endToEndId !== undefined) return { ok: true, endToEndId: body.endToEndId }
  return {
    ok: false,
    code: body.violacoes?.[0]?.propriedade ?? 'refused',
    message: body.detail ?? 'The simulated bank refused the payment.',
  }
}

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Pool, request } from 'undici'
import { fetchToken } from '../support/service.ts'
import type { TestReceiver } from '../support/webhooks.ts'
import type { Found, Observation } from './observation.ts'

export type Shops = {
  name: string
  /** Unanswered requests, each with the address that it was sent to. */
  underWay(): { baseUrl: string; answered: Promise<number | null> }[]
  /** Lets every shop finish what it has begun. A service must be running. */
  stop(): Promise<void>
  acknowledged: Observation['acknowledged']
  paid: Observation['paid']
  /** Answers that no shop should ever get. */
  surprises: string[]
}

type Options = {
  /** The address for a shop's next request; requested again after each failure. */
  addresses: (() => string)[]
  token: string
  webhookUrl: string
  /** Prefix of the names of all requests, so that those of two runs differ. */
  name: string
  /** Between two charges of a shop. Eight shops without a pause keep two cores busy. */
  pauseMs?: number
}

type Sent = { baseUrl: string; answered: Promise<number | null> }
type Answer = { status: number; body: Record<string, unknown> }

/** A service that starts needs the core that a shop's next attempt takes. */
const pauseAfterFailureMs = 100
/** A killed service does not answer; a service that is stuck must not hang the test. */
const answerMaxMs = 15_000

/**
 * Shops that create and pay charges, one request after the other. An unanswered request is repeated under the same
 * idempotency key until it is answered.
 */
export function openShops({ addresses, token, webhookUrl, name, pauseMs = 0 }: Options): Shops {
  const connections = new Map<string, Pool>()
  const underWay = new Set<Sent>()
  const acknowledged: Observation['acknowledged'] = []
  const paid: Observation['paid'] = []
  const surprises: string[] = []
  let isOpen = true
  const shops = addresses.map(async (address, index) => {
    for (let order = 0; isOpen; order++) {
      await sell(address, `${name}-${index}-${order}`, 100 + order)
      await sleep(pauseMs)
    }
  })

  return {
    name,
    underWay: () => [...underWay],
    acknowledged,
    paid,
    surprises,
    async stop() {
      isOpen = false
      await Promise.all(shops)
      await Promise.all([...connections.values()].map(async (pool) => await pool.destroy()))
    },
  }

  async function sell(address: () => string, key: string, amount: number): Promise<void> {
    const body = { amount, paymentMethod: 'PIX', pix: {}, externalCode: key, idempotencyKey: key, webhookUrl }
    const created = await insist(address, '/transaction', body, [201])
    const { id, pixResponse } = created.body as { id: string; pixResponse: { uri: string } }
    acknowledged.push({ key, id, amount, uri: pixResponse.uri })
    // Some customers do not pay.
    if (amount % 4 === 0) return
    const { status, body: answer } = await insist(address, '/sandbox/payment', { uri: pixResponse.uri }, [200, 422])
    if (status === 422 && !JSON.stringify(answer).includes('already_paid')) surprises.push(JSON.stringify(answer))
    else paid.push({ id, endToEndId: status === 200 ? String(answer.endToEndId) : null })
    // A page is reloaded, for instance: the same request again.
    if (amount % 5 === 0) {
      const again = await insist(address, '/transaction', body, [201])
      acknowledged.push({ key, id: String(again.body.id), amount, uri: pixResponse.uri })
    }
  }

  async function insist(address: () => string, path: string, body: object, expected: number[]): Promise<Answer> {
    for (;;) {
      const answer = await send(address(), path, body)
      if (answer && expected.includes(answer.status) && !isCutOff(answer)) return answer
      // 5xx is a correct answer of a service that has just lost its database, or whose bank can reach nobody. Any other
      // error is wrong.
      if (answer && answer.status < 500 && !isCutOff(answer))
        surprises.push(`${path} answered ${answer.status} ${JSON.stringify(answer.body)}`)
      await sleep(pauseAfterFailureMs)
    }
  }

  /** Null without a complete answer. */
  async function send(baseUrl: string, path: string, body: object): Promise<Answer | null> {
    const pending = call(baseUrl, path, body)
    const sent = { baseUrl, answered: pending.then((answer) => answer?.status ?? null) }
    underWay.add(sent)
    const answer = await pending
    underWay.delete(sent)
    return answer
  }

  async function call(baseUrl: string, path: string, body: object): Promise<Answer | null> {
    try {
      const answer = await connect(baseUrl).request({
        path,
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
      return { status: answer.statusCode, body: (await answer.body.json()) as Record<string, unknown> }
    } catch {
      return null
    }
  }

  function connect(baseUrl: string): Pool {
    const known = connections.get(baseUrl)
    if (known) return known
    const pool = new Pool(baseUrl, { headersTimeout: answerMaxMs, bodyTimeout: answerMaxMs })
    connections.set(baseUrl, pool)
    return pool
  }
}

/** The payer's bank reached no PSP that knows the charge: the payer tries again. */
function isCutOff({ status, body }: Answer): boolean {
  return status === 422 && JSON.stringify(body.errors).includes('"unavailable"')
}

export async function fetchSandboxToken(dataDir: string, baseUrl: string): Promise<string> {
  return await fetchToken(baseUrl, JSON.parse(await readFile(join(dataDir, 'sandbox.json'), 'utf8')))
}

/** All records, read page by page like a client. */
export async function fetchAll(baseUrl: string, token: string): Promise<Found[]> {
  const found: Found[] = []
  for (let cursor = ''; ; ) {
    const answer = await request(`${baseUrl}/transaction?perPage=100${cursor}`, {
      headers: { authorization: `Bearer ${token}` },
    })
    const page = (await answer.body.json()) as { data: Found[]; nextCursor: string | null }
    found.push(...page.data)
    if (page.nextCursor === null) return found
    cursor = `&cursor=${encodeURIComponent(page.nextCursor)}`
  }
}

/**
 * The data of these shops to check, once nothing more will change: paid transactions are PAID, and every event was
 * delivered.
 */
export async function observe(
  shops: Shops,
  {
    baseUrl,
    token,
    receiver,
    quietMaxMs,
  }: { baseUrl: string; token: string; receiver: TestReceiver; quietMaxMs: number },
): Promise<Observation> {
  const { acknowledged, paid } = shops
  const ids = new Set(paid.map(({ id }) => id))
  const endsAt = Date.now() + quietMaxMs
  const fetchFound = async () =>
    (await fetchAll(baseUrl, token)).filter(({ externalCode }) => externalCode?.startsWith(shops.name))
  let found = await fetchFound()
  const isQuiet = () => {
    const delivered = new Set(receiver.received.map(({ event }) => `${event.data.id} ${event.data.sequence}`))
    return found.every(
      ({ id, status, statusHistory }) =>
        (status === 'PAID' || !ids.has(id)) &&
        statusHistory.slice(1).every((_, index) => delivered.has(`${id} ${index + 1}`)),
    )
  }
  while (!isQuiet() && Date.now() < endsAt) {
    await new Promise((resolve) => setTimeout(resolve, 250))
    found = await fetchFound()
  }
  const deliveries = receiver.received.map(({ event }) => ({
    recordId: event.data.id,
    eventId: event.id,
    type: event.type,
    sequence: event.data.sequence,
  }))
  return { acknowledged, paid, deliveries, found }
}

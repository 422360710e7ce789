import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from 'undici'
import type { Simulator } from '../../simulator/simulator.ts'

export type Answer = {
  /** Which service, by its index in the load's `services`. */
  service: number
  what: string
  /** Since the load began. */
  atMs: number
  tookMs: number
  /** 0 if the connection ended without an answer. */
  status: number
  code: string
  retryAfter: string | null
}

/** What a shop or the bank was answered, and so must never be lost. */
export type Acknowledged = {
  creates: { id: string; key: string; amount: number }[]
  /** By the bank: its payers have paid. */
  payments: { id: string; endToEndId: string; amount: number }[]
  refunds: { id: string; transactionId: string; key: string; amount: number }[]
  withdrawals: { id: string; key: string; amount: number }[]
}

export type Load = {
  answers: Answer[]
  acknowledged: Acknowledged
  nowMs(): number
  /** Resolves when each service has answered this many more creates with 201. */
  untilServed(creates: number): Promise<void>
  /** Lets every shop finish its current order, but repeats no request that fails. */
  stop(): Promise<void>
}

type Options = {
  /** A shop's next request goes to the next of them. */
  services: Pool[]
  headers: Record<string, string>
  bank: Pick<Simulator, 'pay'>
  /** Prefix of all idempotency keys. */
  name: string
  shops?: number
}

class GivenUp extends Error {}

const pauseMs = 60
const pauseBeforeRepeatMs = 250
const servedMaxMs = 240_000

/**
 * Shops that create charges, have them paid, refund and withdraw. They repeat each request until it is answered with
 * 200, 201 or 404.
 */
export function openLoad({ services, headers, bank, name, shops = 6 }: Options): Load {
  const began = performance.now()
  const nowMs = () => performance.now() - began
  const answers: Answer[] = []
  const acknowledged: Acknowledged = { creates: [], payments: [], refunds: [], withdrawals: [] }
  const stopping = new AbortController()
  let turn = 0
  const running = Array.from({ length: shops }, async (_, shop) => {
    for (let order = 0; !stopping.signal.aborted; order++) {
      await sell(`${name}-${shop}-${order}`, 1_000 + order, order % 4).catch((error: Error) => {
        if (!(error instanceof GivenUp)) throw error
      })
      await sleep(pauseMs)
    }
  })
  const served = () =>
    services.map(
      (_, index) =>
        answers.filter((one) => one.service === index && one.what === 'create' && one.status === 201).length,
    )

  return {
    answers,
    acknowledged,
    nowMs,
    async untilServed(creates) {
      const before = served()
      const giveUpAt = Date.now() + servedMaxMs
      while (!served().every((count, index) => count >= (before[index] ?? 0) + creates)) {
        if (Date.now() > giveUpAt)
          throw new Error(`A service creates too few charges: ${JSON.stringify(answers.slice(-20))}`)
        await sleep(100)
      }
    },
    async stop() {
      stopping.abort()
      await Promise.all(running)
      await Promise.all(services.map(async (pool) => await pool.destroy()))
    },
  }

  async function sell(key: string, amount: number, kind: number): Promise<void> {
    const create = { amount, paymentMethod: 'PIX', pix: {}, externalCode: key, idempotencyKey: key }
    const created = (await insist('create', 'POST', '/transaction', create)) as {
      id: string
      pixResponse: { uri: string }
    }
    acknowledged.creates.push({ id: created.id, key, amount })
    // Some customers do not pay.
    if (kind === 3) return
    const paid = await bank.pay({ uri: created.pixResponse.uri })
    if (!paid.ok) throw new Error(`The bank refused a payment: ${paid.code} ${paid.message}`)
    acknowledged.payments.push({ id: created.id, endToEndId: paid.endToEndId, amount })
    if (kind === 0) return
    while ((await insist('fetch', 'GET', `/transaction/${created.id}`)).status !== 'PAID') {
      if (stopping.signal.aborted) throw new GivenUp()
      await sleep(pauseBeforeRepeatMs)
    }
    if (kind === 1) {
      const refund = { amount: 500, idempotencyKey: `${key}-refund` }
      const { id } = await insist('refund', 'POST', `/transaction/${created.id}/refund`, refund)
      acknowledged.refunds.push({ id: String(id), transactionId: created.id, key: refund.idempotencyKey, amount: 500 })
      return
    }
    const pixKey = { key: randomUUID(), type: 'EVP' }
    const withdrawal = { amount: 300, method: 'PIX', pixKey, idempotencyKey: `${key}-withdrawal` }
    const { id } = await insist('withdrawal', 'POST', '/withdrawal', withdrawal)
    acknowledged.withdrawals.push({ id: String(id), key: withdrawal.idempotencyKey, amount: 300 })
  }

  async function insist(
    what: string,
    method: 'GET' | 'POST',
    path: string,
    body?: object,
  ): Promise<Record<string, unknown>> {
    for (;;) {
      const { status, json } = await send(what, method, path, body)
      if (status === 200 || status === 201) return json
      // A transaction that was lost can be neither fetched nor refunded.
      if (status === 404 || stopping.signal.aborted) throw new GivenUp()
      await sleep(pauseBeforeRepeatMs)
    }
  }

  async function send(what: string, method: 'GET' | 'POST', path: string, body?: object) {
    const service = turn++ % services.length
    const atMs = nowMs()
    const note = (status: number, code: string, retryAfter: string | null) =>
      answers.push({ service, what, atMs, tookMs: nowMs() - atMs, status, code, retryAfter })
    try {
      const answer = await services[service]?.request({
        path,
        method,
        headers: { ...headers, ...(body && { 'content-type': 'application/json' }) },
        ...(body && { body: JSON.stringify(body) }),
      })
      if (!answer) throw new Error(`There is no service ${service}`)
      const text = await answer.body.text()
      const json = parse(text)
      note(answer.statusCode, String(json.code ?? text.slice(0, 80)), answer.headers['retry-after']?.toString() ?? null)
      return { status: answer.statusCode, json }
    } catch (error) {
      note(0, (error as NodeJS.ErrnoException).code ?? String(error), null)
      return { status: 0, json: {} }
    }
  }
}

function parse(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}

/** What a fault did to the callers: times in seconds, and numbers of answers. */
export type Outage = {
  /** The longest time without any 2xx. */
  withoutSuccess: number
  /** From the first request that was not answered 2xx to the last such answer. */
  disturbed: number
  slowest: number
  /** Not 2xx, or no answer. */
  failed: number
  answers: number
}

export function measureOutage(answers: Answer[], fromMs: number): Outage {
  const since = answers.filter(({ atMs, tookMs }) => atMs + tookMs >= fromMs)
  const isGood = ({ status }: Answer) => status === 200 || status === 201
  const ends = [fromMs, ...since.filter(isGood).map(({ atMs, tookMs }) => atMs + tookMs)].sort(
    (one, other) => one - other,
  )
  const bad = since.filter((one) => !isGood(one))
  const seconds = (ms: number) => Math.round(ms / 100) / 10
  const times = bad.map(({ atMs }) => atMs)
  return {
    withoutSuccess: seconds(Math.max(0, ...ends.slice(1).map((end, index) => end - (ends[index] ?? end)))),
    disturbed: seconds(
      bad.length === 0 ? 0 : Math.max(...bad.map(({ atMs, tookMs }) => atMs + tookMs)) - Math.min(...times),
    ),
    slowest: seconds(Math.max(0, ...since.map(({ tookMs }) => tookMs))),
    failed: bad.length,
    answers: since.length,
  }
}

/** How long a caller waits for an answer. */
const answerMaxMs = 5_000

/** Answers that no caller should get while the database is away. */
export function findWrongAnswers(answers: Answer[]): string[] {
  return answers
    .filter(({ status, code, retryAfter, tookMs }) => {
      const isAllowed =
        status === 200 || status === 201 || (status === 503 && code === 'database_unavailable' && retryAfter !== null)
      return !isAllowed || tookMs > answerMaxMs
    })
    .map(
      ({ what, status, code, retryAfter, atMs, tookMs, service }) =>
        `${what} at service ${service}, ${Math.round(atMs)} ms: ${status} ${code}, Retry-After ${retryAfter}, after ${Math.round(tookMs)} ms`,
    )
}

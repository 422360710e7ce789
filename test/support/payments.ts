import { request } from 'undici'
import type { Guiche } from '../../sdk/src/index.ts'
import { sql } from '../../src/db/sql.ts'
import { type Answer, smallestTransaction, type TestService } from './service.ts'
import { type TestSimulator, testSimulator } from './simulator.ts'
import { eventually } from './webhooks.ts'

export type Charged = { id: string; uri: string }

export type Transaction = {
  id: string
  status: string
  amount: number
  amountPaid?: number
  paymentDate?: string
  endToEnd?: string
  errorMessage: string | null
  statusHistory: { status: string; date: string; durationInMilliseconds: number | null }[]
  payer?: unknown
  receiver?: unknown
  pixResponse?: { uri: string; expirationDate: string }
}

export async function charge(service: TestService, more: Record<string, unknown> = {}): Promise<Charged> {
  const { status, body } = await service.call<{ id: string; pixResponse: { uri: string } }>('/transaction', {
    body: smallestTransaction(more),
  })
  if (status !== 201) throw new Error(`Not created: ${status} ${JSON.stringify(body)}`)
  return { id: body.id, uri: body.pixResponse.uri }
}

export async function chargeMany(service: TestService, count: number): Promise<Charged[]> {
  return await Promise.all(Array.from({ length: count }, async () => await charge(service)))
}

/** Pays at the service's own simulated bank, which sends its callbacks automatically. */
export async function payAt(service: TestService, uri: string, more: Record<string, unknown> = {}) {
  return await service.call<{ endToEndId: string; code?: string; errors?: { code: string }[] }>('/sandbox/payment', {
    body: { uri, ...more },
  })
}

/** A bank on the same simulated network that keeps its callbacks instead of sending them. */
export type QuietBank = TestSimulator & {
  /** Pays, and returns the payment as a callback would name it. */
  payQuietly(uri: string): Promise<Record<string, unknown> & { endToEndId: string; txid: string }>
}

export async function openQuietBank(service: TestService, clock = service.clock): Promise<QuietBank> {
  const bank = await testSimulator(service.db.pool, { clock, publicBaseUrl: service.baseUrl })
  return {
    ...bank,
    async payQuietly(uri) {
      const outcome = await bank.pay({ uri })
      if (!outcome.ok) throw new Error(`Not paid: ${outcome.code}`)
      await eventually(() => JSON.stringify(bank.callbacks).includes(outcome.endToEndId))
      const reported = bank.callbacks.flatMap(
        ({ body }) => (body as { pix: { endToEndId: string; txid: string }[] }).pix,
      )
      const payment = reported.find(({ endToEndId }) => endToEndId === outcome.endToEndId)
      if (!payment) throw new Error('the bank did not report its payment')
      return payment
    },
  }
}

/** Posts a callback to the URL that was registered at the acquirer. */
export async function sendCallback(service: TestService, body: unknown): Promise<number> {
  return (await sendRawCallback(service, JSON.stringify(body))).status
}

export async function sendRawCallback(service: TestService, rawBody: string): Promise<Answer> {
  const [row] = await service.db.query<{ url: string }>(sql`select url from simulator.webhooks`)
  const answer = await request(`${row?.url}/pix`, {
    method: 'POST',
    body: rawBody,
    headers: { 'content-type': 'application/json' },
  })
  const text = await answer.body.text()
  return { status: answer.statusCode, headers: new Headers(), text, body: text === '' ? {} : JSON.parse(text) }
}

export async function fetchTransaction(service: TestService, id: string): Promise<Transaction> {
  return (await service.call<Transaction>(`/transaction/${id}`)).body
}

export async function untilStatus(service: TestService, id: string, status: string): Promise<Transaction> {
  let now: Transaction | null = null
  await eventually(
    async () => {
      now = await fetchTransaction(service, id)
      return now.status === status
    },
    () => `${id} is ${now?.status}, not ${status}`,
  )
  return now ?? (await fetchTransaction(service, id))
}

export function statusesOf({ statusHistory }: Transaction): string[] {
  return statusHistory.map(({ status }) => status)
}

/** The state of the notice about a payment in the callback inbox. */
export async function inboxState(service: TestService, endToEndId: string): Promise<string | null> {
  const [row] = await service.db.query<{ state: string }>(sql`
    select state from callback_inbox where event_key = ${endToEndId}`)
  return row?.state ?? null
}

/** Waits until the notice of a payment has the state. Advances the clock over the pauses between its checks. */
export async function untilInbox(service: TestService, endToEndId: string, state: string): Promise<void> {
  let now: string | null = null
  await eventually(
    async () => {
      now = await inboxState(service, endToEndId)
      const [paused] = await service.db.query<{ check_at: Date }>(sql`
        select check_at from callback_inbox where event_key = ${endToEndId} and state = 'received' and checks > 0`)
      if (paused && paused.check_at > service.clock.now()) service.clock.set(paused.check_at)
      return now === state
    },
    () => `the notice of ${endToEndId} is ${now}, not ${state}`,
  )
}

/** The types of a transaction's events, in order. */
export async function eventsOf(service: TestService, id: string): Promise<string[]> {
  const rows = await service.db.query<{ type: string }>(sql`
    select type from events where record_id = ${id} order by sequence`)
  return rows.map(({ type }) => type)
}

/** Refunds a part of a payment, and waits until the shop has answered the `transaction.paid` that follows it. */
export async function refundInPart(guiche: Guiche, id: string): Promise<void> {
  await guiche.transactions.refund(id, { amount: 590 })
  await untilPaidAgain(guiche, id)
}

/** Waits until the shop has answered a second `transaction.paid`. */
export async function untilPaidAgain(guiche: Guiche, id: string): Promise<void> {
  await eventually(async () => {
    const events = await guiche.transactions.events(id).all()
    return events.filter(({ type, delivery }) => type === 'transaction.paid' && delivery === 'delivered').length === 2
  })
}

import { request } from 'undici'
import type { FaultProfileInput } from '../../simulator/faults/profile-store.ts'
import type { Truth } from '../../simulator/faults/truth.ts'
import { createSimulator, type Simulator } from '../../simulator/simulator.ts'
import { type Db, sql } from '../../src/db/sql.ts'
import { post } from './requests.ts'
import { smallestTransaction, type TestService } from './service.ts'
import { eventually } from './webhooks.ts'

/** The content of a callback. */
export type ReportedPayment = { endToEndId: string; txid?: string; valor: string; horario: string; chave: string }

/** A bank on the service's own simulated network, with a fault profile. Its callbacks reach the service over HTTP. */
export type HostileBank = Simulator & {
  reported: ReportedPayment[]
  /** Stops callbacks, including late ones. Resolves when those already sent have arrived. */
  stopCallbacks(): Promise<void>
}

export async function openHostileBank(service: TestService, personality: FaultProfileInput): Promise<HostileBank> {
  const reported: ReportedPayment[] = []
  let isStopped = false
  let callbacksInFlight = 0
  const bank = await createSimulator({
    pool: service.db.pool,
    clock: service.clock,
    publicBaseUrl: service.baseUrl,
    personality,
    log: { warn: () => {} },
    sendCallback: async (url, body) => {
      if (isStopped) return 200
      reported.push(...(body as { pix: ReportedPayment[] }).pix)
      callbacksInFlight += 1
      try {
        return await post(url, body)
      } finally {
        callbacksInFlight -= 1
      }
    },
  })
  const stopCallbacks = async () => {
    isStopped = true
    await eventually(
      () => callbacksInFlight === 0,
      () => `${callbacksInFlight} callbacks are on their way`,
    )
  }
  return { ...bank, reported, stopCallbacks }
}

/** Enough for PostgreSQL to commit several at once, and few enough sockets for one process. */
const concurrency = 48

export async function forEachIndexConcurrent(count: number, work: (index: number) => Promise<void>): Promise<void> {
  let next = 0
  const worker = async () => {
    while (next < count) {
      next += 1
      await work(next - 1)
    }
  }
  await Promise.all(Array.from({ length: concurrency }, worker))
}

/**
 * Creates transactions of different amounts. If the bank loses an answer, the response is 500, and the service queries
 * the charge again automatically.
 */
export async function createMany(service: TestService, count: number): Promise<void> {
  const headers = { authorization: `Bearer ${service.token}`, 'content-type': 'application/json' }
  await forEachIndexConcurrent(count, async (index) => {
    const body = smallestTransaction({ amount: 100 + (index % 9000), pix: { expirationSeconds: 86_400 } })
    const answer = await request(`${service.baseUrl}/transaction`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    })
    const text = await answer.body.text()
    const { statusCode: status } = answer
    if (status !== 201 && status !== 500) throw new Error(`Not created: ${status} ${text}`)
  })
}

export async function listCodes(db: Db): Promise<string[]> {
  const rows = await db.query<{ pix_uri: string }>(sql`select pix_uri from transactions where pix_uri is not null`)
  return rows.map(({ pix_uri }) => pix_uri)
}

type PostedTransaction = {
  id: string
  txid: string
  status: string
  amount_paid: number | null
  end_to_end: string | null
  /** The amount returned under MED, or returned by the bank on its own and confirmed by an operator. */
  returned: number
}
type PostedSuspense = {
  end_to_end: string
  kind: string
  amount: number
  status: string
  transaction_id: string | null
  /** The amount returned by the service, by the bank or under MED. */
  returned: number
}

/** What the service has posted, and the total balance of its accounts. */
export type LedgerState = {
  transactions: PostedTransaction[]
  suspense: PostedSuspense[]
  balances: Map<string, number>
}

export async function readLedger(db: Db): Promise<LedgerState> {
  const balances = await db.query<{ account: string; balance: number }>(sql`
    select split_part(account, ':', 1) as account, sum(balance)::bigint as balance from ledger_accounts group by 1`)
  return {
    transactions: await db.query<PostedTransaction>(sql`
      select id, replace(id::text, '-', '') as txid, status, amount_paid, end_to_end, amount_returned as returned
      from transactions`),
    suspense: await db.query<PostedSuspense>(sql`
      select end_to_end, kind, amount, status, transaction_id,
        taken_amount + case when status = 'returned' then coalesce(return_amount, 0) else 0 end as returned
      from suspense_payments`),
    balances: new Map(balances.map(({ account, balance }) => [account, balance])),
  }
}

/** The balance of the acquirer's account in the ledger, in cents. */
export function balanceOfLedger({ balances }: LedgerState): number {
  return 0 - (balances.get('acquirer') ?? 0)
}

/**
 * Compares the ledger with what really happened, to the cent, and returns the differences as sentences. Money that the
 * bank returned without reporting it may be missing in the ledger, if it is exactly the difference of both balances.
 */
export function findDisagreements(ledger: LedgerState, { payments, balance }: Truth): string[] {
  const truth = new Map(payments.map((payment) => [payment.endToEndId, payment]))
  const credited = ledger.transactions.filter(({ end_to_end }) => end_to_end !== null)
  const all = [...credited, ...ledger.suspense].map(({ end_to_end }) => end_to_end ?? '')
  const once = new Set(all)
  const paidTxids = new Set(payments.flatMap(({ txid }) => txid ?? []))
  const txidOf = new Map(ledger.transactions.map(({ id, txid }) => [id, txid]))
  // Money that the bank returned without reporting it: reconciliation finds it.
  let unreported = 0
  return [
    ...all.filter((id) => !truth.has(id)).map((id) => `${id} is posted and never arrived`),
    ...findRepeated(all).map((id) => `${id} is posted twice`),
    ...payments.flatMap(({ endToEndId }) => (once.has(endToEndId) ? [] : [`${endToEndId} arrived and is not posted`])),
    ...credited.flatMap(({ id, txid, amount_paid, end_to_end, returned }) => {
      const real = truth.get(end_to_end ?? '')
      if (!real) return []
      unreported += real.returned - returned
      const isReported = real.returned === returned || real.behaviours.includes('returned')
      return [
        ...(real.txid === txid ? [] : [`transaction ${id} is paid by a payment of ${real.txid ?? 'nothing'}`]),
        ...(real.amount === amount_paid ? [] : [`transaction ${id} is paid with ${amount_paid} of ${real.amount}`]),
        ...(isReported ? [] : [`transaction ${id} has ${returned} returned of ${real.returned}`]),
      ]
    }),
    ...ledger.suspense.flatMap(({ end_to_end, kind, amount, status, transaction_id, returned }) => {
      const real = truth.get(end_to_end)
      if (!real) return []
      if (status === 'returning') return [`${end_to_end} is still ${status}`]
      unreported += real.returned - returned
      const isRight = real.amount === amount && (real.txid === null) === (kind === 'unattributed')
      const isOwn = kind === 'unattributed' || txidOf.get(transaction_id ?? '') === real.txid
      const isReported = real.returned === returned || /returned|contested/.test(real.behaviours.join())
      return isRight && isOwn && isReported
        ? []
        : [`${end_to_end} is in suspense as ${kind} of ${amount}, ${returned} returned`]
    }),
    ...ledger.transactions.flatMap(({ id, txid, status, end_to_end, amount_paid, returned }) => {
      const isPaid = end_to_end !== null
      // Money that the bank returned is refunded once an operator confirms it.
      const isGone = status === 'REFUNDED' && returned === amount_paid
      if (paidTxids.has(txid) !== isPaid) return [`transaction ${id} is ${status}, and ${isPaid ? 'not ' : ''}paid`]
      const isSettled = isPaid ? status === 'PAID' || status === 'INFRACTION' || isGone : status === 'FAILED'
      return isSettled ? [] : [`transaction ${id} is still ${status}`]
    }),
    ...(balanceOfLedger(ledger) === balance + unreported
      ? []
      : [`the ledger holds ${balanceOfLedger(ledger)}, and the bank ${balance} and ${unreported} unreported`]),
  ]
}

function findRepeated(ids: string[]): string[] {
  const seen = new Set<string>()
  return ids.filter((id) => seen.size === seen.add(id).size)
}

/**
 * The bank accepts every second dispute and rejects the others. If the payment is already returned, there is nothing to
 * accept.
 */
export async function decideDisputes(bank: HostileBank, db: Db): Promise<number> {
  const open = await db.query<{ id: string }>(sql`
    select id::text as id from simulator.disputes where state = 'open' order by opened_at, end_to_end_id`)
  for (const [index, { id }] of open.entries()) {
    const accepted = index % 2 === 0 && (await bank.decideDispute({ reference: id, decision: 'accept' })).ok
    if (!accepted) await bank.decideDispute({ reference: id, decision: 'reject' })
  }
  return open.length
}

/** Work that is due now: notices in the callback inbox, and jobs. */
export async function countDue(db: Db, now: Date): Promise<{ notices: number; jobs: number }> {
  const [row] = await db.query<{ notices: number; jobs: number }>(sql`
    select
      (select count(*) from callback_inbox where state = 'received' and check_at <= ${now}) as notices,
      (select count(*) from jobs where run_at <= now()) as jobs`)
  return row ?? { notices: 0, jobs: 0 }
}

/** Callbacks that name a payment that does not exist (`invented`), or another charge than was paid (`swapped`). */
export function findForged(
  reported: ReportedPayment[],
  { payments }: Truth,
): { invented: ReportedPayment[]; swapped: ReportedPayment[] } {
  const truth = new Map(payments.map((payment) => [payment.endToEndId, payment]))
  const invented = reported.filter(({ endToEndId }) => !truth.has(endToEndId))
  const swapped = reported.filter(({ endToEndId, txid }) => {
    const real = truth.get(endToEndId)
    return real !== undefined && txid !== undefined && real.txid !== txid
  })
  return { invented, swapped }
}

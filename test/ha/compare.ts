import { setTimeout as sleep } from 'node:timers/promises'
import { type Db, sql } from '../../src/db/sql.ts'
import { findBreaches } from '../../src/verification.ts'
import type { Acknowledged } from './load.ts'

export type Comparison = {
  /** What was acknowledged, or moved by the bank, and is not recorded. */
  lost: string[]
  /** What was recorded or paid twice. */
  doubled: string[]
  /** Refunds and withdrawals that are not completed yet. */
  open: string[]
  /** What the verification of the ledger finds. */
  breaches: string[]
}

type Records = {
  transactions: { id: string; key: string; amount: number; status: string; endToEnd: string | null; paid: number }[]
  refunds: { id: string; key: string; amount: number; status: string; endToEnd: string | null }[]
  withdrawals: { id: string; key: string; amount: number; status: string; endToEnd: string | null }[]
  suspense: { endToEnd: string }[]
}
type BankRecords = {
  payments: { id: string; endToEnd: string; amount: number }[]
  returns: { id: string; endToEnd: string; amount: number }[]
  payouts: { id: string; endToEnd: string; amount: number }[]
}

/** Compares all that was acknowledged, and all that the bank has moved, with the gateway's records. */
export async function compare({ db, bank }: { db: Db; bank: Db }, acknowledged: Acknowledged): Promise<Comparison> {
  const records = await readRecords(db)
  const { payments, returns, payouts } = await readBank(bank)
  const byId = new Map(
    [...records.transactions, ...records.refunds, ...records.withdrawals].map((row) => [row.id, row]),
  )
  const missing = (what: string, rows: { id: string; amount: number }[]) =>
    rows.filter(({ id, amount }) => byId.get(id)?.amount !== amount).map(({ id }) => `${what} ${id}`)
  const paid = new Map(records.transactions.map(({ id, endToEnd }) => [id, endToEnd]))
  const sent = new Set([...returns, ...payouts].map(({ endToEnd }) => endToEnd))
  const all = [...records.transactions, ...records.refunds, ...records.withdrawals]
  const keysOf = (rows: { key: string }[]) => rows.map(({ key }) => key)
  return {
    lost: [
      ...missing('create', acknowledged.creates),
      ...missing('refund', acknowledged.refunds),
      ...missing('withdrawal', acknowledged.withdrawals),
      ...acknowledged.payments
        .filter(({ endToEndId }) => !payments.some(({ endToEnd }) => endToEnd === endToEndId))
        .map(({ endToEndId }) => `the bank's own payment ${endToEndId}`),
      ...payments.filter(({ id, endToEnd }) => paid.get(id) !== endToEnd).map(({ endToEnd }) => `payment ${endToEnd}`),
      ...[...returns, ...payouts].filter(({ id }) => !byId.has(id)).map(({ id }) => `what the bank sent as ${id}`),
      ...records.suspense.map(({ endToEnd }) => `payment ${endToEnd} is in suspense`),
    ],
    doubled: [
      ...findDoubled(keysOf(all)).map((key) => `two records of ${key}`),
      ...findDoubled(payments.map(({ id }) => id)).map((id) => `two payments of ${id}`),
      ...records.transactions.filter((row) => row.paid > 1).map(({ id }) => `${id} became PAID twice`),
    ],
    open: [
      ...records.refunds
        .filter(({ status, endToEnd }) => status !== 'REFUNDED' || !sent.has(endToEnd ?? ''))
        .map(({ id, status }) => `refund ${id} is ${status}`),
      ...records.withdrawals
        .filter(({ status, endToEnd }) => status !== 'PROCESSED' || !sent.has(endToEnd ?? ''))
        .map(({ id, status }) => `withdrawal ${id} is ${status}`),
    ],
    breaches: (await findBreaches(db)).map((breach) => JSON.stringify(breach)),
  }
}

/** Compares again until nothing is open or lost, or until the time is over. */
export async function compareUntilQuiet(
  databases: { db: Db; bank: Db },
  acknowledged: Acknowledged,
  maxMs: number,
): Promise<Comparison> {
  const endsAt = Date.now() + maxMs
  for (;;) {
    const found = await compare(databases, acknowledged)
    if ((found.open.length === 0 && found.lost.length === 0) || Date.now() > endsAt) return found
    await sleep(500)
  }
}

function findDoubled(values: string[]): string[] {
  return values.filter((value, index) => values.indexOf(value) !== index)
}

async function readRecords(db: Db): Promise<Records> {
  return {
    transactions: await db.query(sql`
      select id, idempotency_key as key, amount, status, end_to_end as "endToEnd",
        (select count(*) from unnest(statuses) with ordinality one (status, place)
          where one.status = 'PAID' and statuses[place - 1] = 'PIX_QRCODE_GENERATED') as paid
      from transactions`),
    refunds: await db.query(sql`
      select id, idempotency_key as key, amount, status, end_to_end as "endToEnd" from refunds`),
    withdrawals: await db.query(sql`
      select id, idempotency_key as key, amount, status, end_to_end as "endToEnd" from withdrawals`),
    suspense: await db.query(sql`select end_to_end as "endToEnd" from suspense_payments`),
  }
}

/** The bank names everything by our ids without hyphens. */
async function readBank(bank: Db): Promise<BankRecords> {
  return {
    payments: await bank.query(sql`
      select txid::uuid::text as id, end_to_end_id as "endToEnd", pix.amount
      from simulator.pix join simulator.charges charge on charge.id = pix.charge_id`),
    returns: await bank.query(sql`
      select id::uuid::text as id, return_id as "endToEnd", amount from simulator.returns where rejection is null`),
    payouts: await bank.query(sql`
      select id::uuid::text as id, end_to_end_id as "endToEnd", amount from simulator.payouts where rejection is null`),
  }
}

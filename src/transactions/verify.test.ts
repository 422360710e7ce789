import { afterAll, beforeAll, expect, it } from 'vitest'
import { decide, dispute, pollUntil, returnUnannounced } from '../../test/support/disputes.ts'
import { untilStatus } from '../../test/support/payments.ts'
import { drain, payOne, refund, setFixedFee, untilRefund, untilSent } from '../../test/support/refunds.ts'
import { startTestService, type TestService } from '../../test/support/service.ts'
import { byText, findByRecord } from '../../test/support/verification.ts'
import { balancesOf } from '../../test/support/withdrawals.ts'
import { raw, type Tx } from '../db/sql.ts'
import { findTransactionBreaches, transactionVerification } from './verify-store.ts'

let service: TestService
/** A record of each kind, by its name. */
const ids: Record<string, string> = {}

beforeAll(async () => {
  service = await startTestService({ environment: { TOKEN_LIFETIME_SECONDS: '86400' } })
  await setFixedFee(service, 'transaction', 50)
  await setFixedFee(service, 'refund', 10)
  await payOne(service, 10_000_000)

  ids.paid = (await payOne(service)).id
  ids.partly = (await payOne(service)).id
  ids.part = await refund(service, ids.partly, { amount: 300 })
  await untilRefund(service, ids.partly, ids.part, 'REFUNDED')
  const refused = (await payOne(service, 800_004)).id
  ids.refused = await refund(service, refused)
  await untilRefund(service, refused, ids.refused, 'FAILED')
  ids.refunding = (await payOne(service, 800_002)).id
  ids.slow = await refund(service, ids.refunding)
  await untilSent(service, ids.slow)

  const blocked = await payOne(service)
  await dispute(service, blocked.endToEnd)
  await pollUntil(service, blocked.id, 'BLOCKED')
  const released = await payOne(service)
  const reference = await dispute(service, released.endToEnd)
  await pollUntil(service, released.id, 'BLOCKED')
  await decide(service, reference, 'reject')
  await pollUntil(service, released.id, 'PAID')
  const returned = await payOne(service)
  await returnUnannounced(service, returned.endToEnd)
  await untilStatus(service, returned.id, 'INFRACTION')
  Object.assign(ids, { blocked: blocked.id, released: released.id, returned: returned.id })

  const spent = await payOne(service)
  await drain(service, (await balancesOf(service)).available)
  await dispute(service, spent.endToEnd)
  await pollUntil(service, spent.id, 'BLOCKED')
  ids.repaying = (await payOne(service, 600)).id
  ids.repaid = (await payOne(service, 5000)).id
})
afterAll(async () => await service.stop())

it('finds nothing when everything is consistent', async () => {
  expect(await findTransactionBreaches(service.db)).toEqual([])
  expect(await findByRecord(service.db, transactionVerification)).toEqual([])
})

const transfer = (event: string, kind: string, debit: string, credit: string, type: string, id: string, amount = 1) => `
  insert into ledger_transfers (merchant_id, event_key, position, kind, debit, credit, amount, debit_balance, credit_balance,
    record_type, record_id, created_at)
  select merchant_id, '${event}', 9, '${kind}', '${debit}', '${credit}', ${amount}, 0, 0, '${type}', ${id}, now() from clients limit 1`
const disputed = (name: string, set: string) => `update disputes set ${set} where transaction_id = '{${name}}'`
const nobody = "'00000000-0000-4000-8000-000000000000'"

it.each<[what: string, rule: string, sql: string]>([
  [
    'a payment of another amount',
    'payment_transfers',
    "update transactions set amount_paid = 1001 where id = '{paid}'",
  ],
  ['a fee of another amount', 'payment_transfers', "update transactions set fee_amount = 51 where id = '{paid}'"],
  [
    'a posted fee that its transaction lacks',
    'payment_transfers',
    "update transactions set fee_amount = null where id = '{paid}'",
  ],
  [
    'a posted payment without a transaction',
    'payment_transfers',
    transfer('transaction:x:paid', 'payment', 'acquirer', 'available', 'transaction', nobody),
  ],
  [
    'a payment that was posted twice',
    'payment_transfers',
    transfer('transaction:again', 'payment', 'acquirer', 'available', 'transaction', "'{paid}'", 1000),
  ],
  [
    'a payment added to a past event',
    'payment_transfers',
    transfer('transaction:{paid}:paid', 'payment', 'acquirer', 'available', 'transaction', "'{paid}'", 1000),
  ],
  [
    'a payment that was posted as a correction',
    'payment_transfers',
    transfer('correction:1', 'payment', 'acquirer', 'available', 'correction', nobody),
  ],
  [
    'a debt repaid twice',
    'debt_repaid',
    transfer('transaction:{repaying}:paid', 'debt_repaid', 'available', 'debt', 'transaction', "'{repaying}'"),
  ],
  [
    'a repayment without a debt',
    'debt_repaid',
    transfer('transaction:{paid}:paid', 'debt_repaid', 'available', 'debt', 'transaction', "'{paid}'", 951),
  ],
  [
    'a refund that is still in progress',
    'refund_transfers',
    "update refunds set status = 'PROCESSING' where id = '{part}'",
  ],
  ['a refund with another outcome', 'refund_transfers', "update refunds set status = 'FAILED' where id = '{part}'"],
  [
    'a released refund that is recorded as sent',
    'refund_transfers',
    "update refunds set status = 'REFUNDED' where id = '{refused}'",
  ],
  ['a refund of another amount', 'refund_transfers', "update refunds set amount = 301 where id = '{part}'"],
  ['a refund with another fee', 'refund_transfers', "update refunds set fee_amount = 0 where id = '{part}'"],
  ['a returned fee of another amount', 'refund_transfers', "update refunds set fee_returned = 15 where id = '{part}'"],
  ['a fee that was returned in excess', 'fee_returned', "update refunds set fee_returned = 16 where id = '{part}'"],
  [
    'a fee that the operator paid without need',
    'fee_returned',
    transfer('refund:{part}:reserved', 'fee_returned', 'acquirer:simulator', 'available', 'refund', "'{part}'"),
  ],
  ['a deleted refund', 'refund_transfers', "delete from refunds where id = '{part}'"],
  [
    'a refund that was sent twice',
    'refund_transfers',
    transfer('refund:{part}:sent', 'refund_sent', 'reserved', 'acquirer', 'refund', "'{part}'", 300),
  ],
  ['a dispute of another amount', 'disputed_amounts', disputed('blocked', 'amount = 999')],
  ['a dispute that blocks another amount', 'infraction_transfers', disputed('blocked', 'blocked_amount = 999')],
  ['a dispute that is still open', 'disputed_amounts', disputed('released', "state = 'open', finished_at = null")],
  ['a return of another amount', 'infraction_transfers', disputed('returned', 'returned_amount = 999')],
  ['a deleted return', 'disputed_amounts', "delete from transaction_returns where transaction_id = '{returned}'"],
  [
    'a return that is not counted',
    'disputed_amounts',
    "update transactions set amount_returned = 0 where id = '{returned}'",
  ],
  ['a deleted dispute', 'infraction_transfers', "delete from disputes where transaction_id = '{blocked}'"],
  [
    'a blocked amount without a dispute',
    'infraction_transfers',
    transfer('infraction:x:blocked', 'infraction_blocked', 'available', 'blocked', 'infraction', nobody),
  ],
  [
    'a dispute whose money was posted to another account',
    'infraction_transfers',
    transfer('infraction:x:fees', 'fee', 'available', 'fees', 'infraction', nobody),
  ],
  [
    'a status without its refund',
    'transaction_status',
    "update transactions set statuses = statuses || 'PROCESSING_REFUND'::text, status_dates = status_dates || now() where id = '{paid}'",
  ],
  [
    'a status without its dispute',
    'transaction_status',
    "update transactions set statuses = statuses || 'BLOCKED'::text, status_dates = status_dates || now() where id = '{paid}'",
  ],
  [
    'a refund that did not change the status',
    'transaction_status',
    "update refunds set status = 'REFUNDED' where id = '{slow}'",
  ],
  ['a dispute that did not change the status', 'transaction_status', disputed('blocked', "state = 'accepted'")],
])('finds %s', async (_, rule, text) => {
  const found = await withRollback(async (tx) => {
    const named = text.replace(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? '')
    const changed = await tx.query(raw(`with changed as (${named} returning 1) select 1 from changed`))
    expect(changed).toHaveLength(1)
    const all = await findTransactionBreaches(tx)
    expect(byText(await findByRecord(tx, transactionVerification))).toEqual(byText(all))
    return all
  })
  expect(found.map((breach) => breach.rule)).toContain(rule)
})

/** Does something in a transaction and rolls it back. */
async function withRollback<Result>(work: (tx: Tx) => Promise<Result>): Promise<Result> {
  const results: Result[] = []
  const taken = service.db.transaction(async (tx) => {
    results.push(await work(tx))
    throw new Error('taken back')
  })
  await expect(taken).rejects.toThrow('taken back')
  const [result] = results
  if (result === undefined) throw new Error('nothing was done')
  return result
}

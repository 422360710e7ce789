import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { payOne, setFixedFee } from '../../test/support/refunds.ts'
import { startTestService, type TestService } from '../../test/support/service.ts'
import { payUnattributed, untilReturned } from '../../test/support/suspense.ts'
import { byText, findByRecord } from '../../test/support/verification.ts'
import { recordAttribution } from '../attribution/attribute.ts'
import { recordReversal } from '../attribution/reverse.ts'
import { raw, sql } from '../db/sql.ts'
import type { RecordKey } from '../ledger/record-filter-store.ts'
import { createSettlement } from '../transactions/settle.ts'
import { findTransactionBreaches } from '../transactions/verify-store.ts'
import { startSendBack } from './send-back.ts'
import { operatorMerchantId } from './status.ts'
import { findSuspenseBreaches, suspenseVerification } from './verify-store.ts'

let service: TestService
/** A record of each kind, by its name. */
const ids: Record<string, string> = { operator: operatorMerchantId }

beforeAll(async () => {
  service = await startTestService({ environment: { TOKEN_LIFETIME_SECONDS: '86400' } })
  await setFixedFee(service, 'transaction', 30)
  const deps = { ...service, settlement: createSettlement(service), wakeDeliveries: () => {} }
  ids.suspended = (await payUnattributed(service)).suspended.id
  const matched = await payUnattributed(service)
  await recordAttribution(deps, { id: matched.suspended.id, transactionId: matched.id, by: { actor: 'cli:test' } })
  const undone = await payUnattributed(service)
  await recordAttribution(deps, { id: undone.suspended.id, transactionId: undone.id, by: { actor: 'cli:test' } })
  await recordReversal(deps, { id: undone.suspended.id, by: { actor: 'cli:test' } })
  const returned = await payUnattributed(service)
  await startSendBack(service, { id: returned.suspended.id, by: { actor: 'cli:test' } })
  await untilReturned(service, returned.endToEnd)
  const paid = await payOne(service)
  Object.assign(ids, {
    matched: matched.suspended.id,
    undone: undone.suspended.id,
    returned: returned.suspended.id,
    paid: paid.id,
  })
  Object.assign(ids, { e2e: paid.endToEnd, transaction: undone.id })
})
afterAll(async () => await service.stop())

it('finds nothing when everything is consistent', async () => {
  expect(await findSuspenseBreaches(service.db)).toEqual([])
  expect(await findTransactionBreaches(service.db)).toEqual([])
  expect(await findByRecord(service.db, suspenseVerification)).toEqual([])
})

const move = (id: string, statuses: string) => `
  update suspense_payments set statuses = string_to_array('${statuses}', ' '),
    status_dates = array_fill(now(), array[cardinality(string_to_array('${statuses}', ' '))])
  where id = '{${id}}'`
const transfer = (key: string, kind: string, debit: string, credit: string, type = 'suspense', id = 'suspended') => `
  insert into ledger_transfers (merchant_id, event_key, position, kind, debit, credit, amount, debit_balance, credit_balance,
    record_type, record_id, created_at)
  values ('{operator}', '${key}', 9, '${kind}', '${debit}', '${credit}', 1000, 0, 0, '${type}', '{${id}}', now())`

it.each<[what: string, rule: string, sql: string]>([
  [
    'a payment of another amount',
    'suspense_transfers',
    "update suspense_payments set amount = 1001 where id = '{suspended}'",
  ],
  [
    'a payment that was never posted',
    'suspense_transfers',
    "update suspense_payments set id = gen_random_uuid() where id = '{suspended}'",
  ],
  [
    'a payment placed in suspense twice',
    'suspense_transfers',
    transfer('suspense:{suspended}:again', 'payment_held', 'acquirer', 'suspense'),
  ],
  [
    'a payment added to a past event',
    'suspense_transfers',
    transfer('suspense:{suspended}:held', 'payment_held', 'acquirer', 'suspense'),
  ],
  [
    'a payment that left suspense and has the status held',
    'suspense_transfers',
    transfer('suspense:{suspended}:returned', 'held_returned', 'suspense', 'acquirer'),
  ],
  [
    'a payment returned twice',
    'suspense_transfers',
    transfer('suspense:{returned}:taken:1', 'held_returned', 'suspense', 'acquirer', 'suspense', 'returned'),
  ],
  [
    'a return that is not posted',
    'suspense_transfers',
    "update suspense_payments set taken_amount = 1 where id = '{suspended}'",
  ],
  ['an attribution that is not posted', 'suspense_transfers', move('undone', 'held matched held matched held')],
  ['a reversal that is not in its history', 'suspense_transfers', move('undone', 'held')],
  [
    'money in suspense without a record',
    'suspense_transfers',
    transfer('correction:1', 'correction', 'acquirer', 'suspense', 'correction', 'paid'),
  ],
  [
    'a reversal of another amount',
    'match_undone',
    "update refunds set amount = 999 where suspense_payment_id = '{undone}'",
  ],
  [
    'a reversal that returns another fee',
    'match_undone',
    "update transactions set fee_amount = 29 where id = '{transaction}'",
  ],
  [
    'a reversal that no refund records',
    'match_undone',
    transfer('refund:{paid}:undone', 'match_undone', 'available', 'acquirer', 'refund', 'paid'),
  ],
  [
    'a payment that is in suspense and pays a transaction',
    'suspense_payment_once',
    "update suspense_payments set end_to_end = '{e2e}' where id = '{suspended}'",
  ],
  [
    'a payment that is attributed to another transaction',
    'suspense_payment_once',
    "update suspense_payments set attributed_transaction_id = '{paid}' where id = '{matched}'",
  ],
])('finds %s', async (_, rule, text) => {
  const named = text.replace(/\{(\w+)\}/g, (whole, name: string) => ids[name] ?? whole)
  const found: string[] = []
  const taken = service.db.transaction(async (tx) => {
    // What the database prevents must still be found if it has happened.
    await tx.query(sql`alter table suspense_payments drop constraint suspense_payments_attributed_to_one`)
    const changed = await tx.query(raw(`with changed as (${named} returning 1) select 1 from changed`))
    expect(changed).toHaveLength(1)
    const all = await findSuspenseBreaches(tx)
    expect(byText(await findByRecord(tx, suspenseVerification))).toEqual(byText(all))
    found.push(...all.map((breach) => breach.rule))
    throw new Error('taken back')
  })
  await expect(taken).rejects.toThrow('taken back')
  expect(found).toContain(rule)
})

describe('a payment that is checked without the transaction that it pays', () => {
  const breachesOf = async (id = '') => {
    const [payment] = await service.db.query<RecordKey>(
      sql`select merchant_id as "merchantId", id from suspense_payments where id = ${id}`,
    )
    return payment ? await findSuspenseBreaches(service.db, [payment]) : null
  }

  it('is no breach when it was attributed after the records to check were selected', async () => {
    expect(await breachesOf(ids.matched)).toEqual([])
  })

  it('is a breach when it is in suspense as well', async () => {
    await service.db.query(sql`update suspense_payments set end_to_end = ${ids.e2e} where id = ${ids.suspended}`)
    expect(await breachesOf(ids.suspended)).toMatchObject([{ rule: 'suspense_payment_once' }])
  })
})

import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import { historyColumns, insertRow, withdrawalHistories } from '../../test/support/records.ts'
import { byText, findByRecord } from '../../test/support/verification.ts'
import { sql } from '../db/sql.ts'
import { findWithdrawalBreaches, withdrawalVerification } from './verify-store.ts'

const now = new Date('2026-03-02T15:00:00.000Z')
const merchant_id = randomUUID()
let database: TestDatabase
let id: string

beforeAll(async () => {
  database = await createTestDatabase()
})
beforeEach(async () => {
  id = randomUUID()
  await database.db.query(sql`delete from withdrawals`)
})
afterAll(async () => await database.drop())

type Transfer = [event: string, kind: string, debit: string, credit: string, amount: number]

const reserved: Transfer = ['reserved', 'withdrawal_reserved', 'available', 'reserved', 1_050]
const sent: Transfer = ['sent', 'withdrawal_sent', 'reserved', 'acquirer', 1_000]
const fee: Transfer = ['sent', 'fee', 'reserved', 'fees', 50]
const released: Transfer = ['released', 'withdrawal_released', 'reserved', 'available', 1_050]
const returned: Transfer = ['returned', 'withdrawal_returned', 'acquirer', 'available', 1_000]
const repaid: Transfer = ['released', 'debt_repaid', 'available', 'debt', 1_050]
const withAmount = (transfer: Transfer, amount: number): Transfer => [...transfer.slice(0, 4), amount] as Transfer

const right: Record<string, Transfer[]> = {
  PENDING: [reserved],
  PROCESSING: [reserved],
  PROCESSED: [reserved, sent, fee],
  FAILED: [reserved, released],
  CANCELED: [reserved, released, repaid],
  REJECTED: [reserved, released],
  REFUNDED: [
    reserved,
    sent,
    fee,
    withAmount(returned, 400),
    ['returned:1000', ...withAmount(returned, 600).slice(1)] as Transfer,
  ],
}

async function withdrawal(status: string): Promise<void> {
  await insertRow(database.db, 'withdrawals', {
    ...{ id, merchant_id, acquirer: 'a PSP', amount: 1_000, fee_amount: 50, pix_key: 'a@example.com' },
    pix_key_type: 'EMAIL',
    ...historyColumns(now, withdrawalHistories[status] ?? []),
  })
}

/** The rules that these transfers break. Nobody can delete transfers, so the transaction is rolled back. */
async function breachesWith(transfers: Transfer[]): Promise<string[]> {
  const found: string[] = []
  const undo = new Error('taken back')
  await database.db
    .transaction(async (tx) => {
      for (const [position, [event, kind, debit, credit, amount]] of transfers.entries()) {
        await tx.query(sql`
          insert into ledger_transfers (
            merchant_id, event_key, position, kind, debit, credit, amount, debit_balance, credit_balance, record_type, record_id,
            created_at)
          values (
            ${merchant_id}, ${`withdrawal:${id}:${event}`}, ${position}, ${kind}, ${debit}, ${credit}, ${amount}, 0, 0,
            'withdrawal', ${id}, ${now})`)
      }
      const breaches = await findWithdrawalBreaches(tx)
      expect(byText(await findByRecord(tx, withdrawalVerification))).toEqual(byText(breaches))
      found.push(...breaches.map(({ rule, recordId }) => `${rule}${recordId === id ? '' : ' of another'}`))
      throw undo
    })
    .catch((error: unknown) => {
      if (error !== undo) throw error
    })
  return found
}

it.each(Object.entries(right))(
  'finds nothing wrong when a withdrawal that is %s has its transfers',
  async (status, transfers) => {
    await withdrawal(status)
    expect(await breachesWith(transfers)).toEqual([])
  },
)

it.each(
  Object.entries(right).flatMap(([status, transfers]) =>
    transfers
      .filter(([, kind]) => kind !== 'debt_repaid' && kind !== 'withdrawal_returned')
      .map((missing) => [status, missing] as const),
  ),
)('finds that a withdrawal that is %s lacks %s', async (status, missing) => {
  await withdrawal(status)
  expect(await breachesWith((right[status] ?? []).filter((one) => one !== missing))).toContain('withdrawal_transfers')
})

it.each<[string, string, Transfer[]]>([
  ['was released and sent', 'PROCESSED', [reserved, sent, fee, released]],
  ['is PENDING and was sent', 'PENDING', [reserved, sent, fee]],
  ['has another amount', 'PROCESSED', [reserved, withAmount(sent, 999), fee]],
  ['reserved without the fee', 'PENDING', [withAmount(reserved, 1_000)]],
  [
    'was sent from another account',
    'PROCESSED',
    [reserved, ['sent', 'withdrawal_sent', 'available', 'acquirer', 1_000], fee],
  ],
  ['was released under another event', 'FAILED', [reserved, ['sent', ...released.slice(1)] as Transfer]],
  ['was reserved twice in one event', 'PENDING', [reserved, reserved]],
  ['was sent twice in one event', 'PROCESSED', [reserved, sent, sent, fee]],
  ['paid its fee twice in one event', 'PROCESSED', [reserved, sent, fee, fee]],
  ['was released twice in one event', 'FAILED', [reserved, released, released]],
])('finds a withdrawal that %s', async (_, status, transfers) => {
  await withdrawal(status)
  expect(await breachesWith(transfers)).toContain('withdrawal_transfers')
})

it.each<[string, string, Transfer[]]>([
  ['is REFUNDED with nothing returned', 'REFUNDED', [reserved, sent, fee]],
  ['got back more than was sent', 'REFUNDED', [reserved, sent, fee, withAmount(returned, 1_001)]],
  ['got something back and is not REFUNDED', 'PROCESSED', [reserved, sent, fee, returned]],
  ['repaid a debt with nothing', 'PROCESSED', [reserved, sent, fee, repaid]],
  [
    'got a part back twice in one event',
    'REFUNDED',
    [reserved, sent, fee, withAmount(returned, 400), withAmount(returned, 400)],
  ],
  [
    'repaid a debt twice in one event',
    'CANCELED',
    [reserved, released, withAmount(repaid, 500), withAmount(repaid, 500)],
  ],
])('finds a withdrawal that %s', async (_, status, transfers) => {
  await withdrawal(status)
  expect(await breachesWith(transfers)).toContain('withdrawal_returned')
})

it('finds transfers without their withdrawal', async () => {
  expect(await breachesWith([reserved])).toContain('withdrawal_transfers')
  expect(await breachesWith([returned])).toContain('withdrawal_returned')
})

import { randomUUID } from 'node:crypto'
import { expect, it, onTestFinished } from 'vitest'
import { createTestDatabase } from '../../test/support/database.ts'
import { newTransactionRow } from '../../test/support/new-transaction.ts'
import { insertWithEvents } from '../transactions/insert.ts'
import { sumTransactions, totaledMax } from './customer-store.ts'

it('totals up to the maximum of transactions of a customer, and says when it leaves some out', async () => {
  const { db, drop } = await createTestDatabase()
  onTestFinished(drop)
  const customer = { merchantId: randomUUID(), by: 'document', value: '52998224725' } as const
  const insert = async (count: number) => {
    const set = { merchant_id: customer.merchantId, created_at: new Date(), webhook_url: null }
    const row = () => newTransactionRow({ ...set, customer_document: customer.value })
    await insertWithEvents(db, Array.from({ length: count }, row))
  }
  for (let inserted = 0; inserted < totaledMax; inserted += 1_000) await insert(1_000)
  expect(await sumTransactions(db, customer)).toMatchObject({ count: totaledMax, covers_only_newest: false })
  await insert(1)
  expect(await sumTransactions(db, customer)).toMatchObject({ count: totaledMax, covers_only_newest: true })
})

import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest'
import { updateRow } from '../../test/support/records.ts'
import { smallestTransaction, startTestService, type TestService } from '../../test/support/service.ts'
import { findSandboxMerchant } from '../../test/support/users.ts'
import type { Db } from '../db/sql.ts'
import { createTransactionFetcher, createTransactionReader } from './fetch.ts'

let service: TestService
let merchantId: string
beforeAll(async () => {
  service = await startTestService()
  merchantId = await findSandboxMerchant(service)
})
afterAll(async () => await service.stop())

/** A fetcher, and the statements that it has sent since they were last asked for. */
function createFetcher() {
  let names: (string | undefined)[] = []
  const query: Db['query'] = async (statement, name) => {
    names.push(name)
    return await service.db.query(statement, name)
  }
  const db: Db = { ...service.db, query }
  const { fetch, stop } = createTransactionFetcher({ db, readTransaction: createTransactionReader(db) })
  onTestFinished(stop)
  return async (recordId: string, merchant = merchantId) => {
    names = []
    const found = await fetch({ merchantId: merchant, recordId }, JSON.stringify)
    return { json: found?.json.toString(), names }
  }
}

const create = async (body: object = smallestTransaction()) =>
  (await service.call<{ id: string }>('/transaction', { body })).body.id

it('reads an open charge once, and then asks only whether it has changed', async () => {
  const fetch = createFetcher()
  const id = await create()
  const first = await fetch(id)
  expect(first.names).toEqual(['find-versioned-transactions'])
  expect(await fetch(id.toUpperCase())).toEqual({ ...first, names: ['find-transaction-versions'] })
  expect(await fetch(id, '00000000-0000-4000-8000-000000000000')).toEqual({ names: ['find-versioned-transactions'] })
  await updateRow(service.db, 'transactions', id, { description: 'Another' })
  const changed = await fetch(id)
  expect(changed.names).toEqual(['find-transaction-versions', 'find-versioned-transactions'])
  expect(changed.json).toContain('"description":"Another"')
})

it('forgets a charge that is no longer open', async () => {
  const fetch = createFetcher()
  const id = await create()
  await fetch(id)
  await service.call(`/transaction/${id}/cancel`, { body: {} })
  await fetch(id)
  for (const time of [1, 2]) {
    const { json, names } = await fetch(id)
    expect(json, String(time)).toContain('"status":"FAILED"')
    expect(names).toEqual(['find-versioned-transactions'])
  }
})

it('keeps nothing for longer than five minutes, and nothing large', async () => {
  vi.useFakeTimers({ toFake: ['setInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const fetch = createFetcher()
  const id = await create()
  const item = { title: 'x'.repeat(100), unitPrice: 1, quantity: 1 }
  const large = await create(smallestTransaction({ items: Array.from({ length: 80 }, () => item) }))
  for (const one of [id, large]) await fetch(one)
  expect((await fetch(large)).names).toEqual(['find-versioned-transactions'])
  vi.advanceTimersByTime(5 * 60_000 - 1)
  expect((await fetch(id)).names).toEqual(['find-transaction-versions'])
  vi.advanceTimersByTime(1)
  expect((await fetch(id)).names).toEqual(['find-versioned-transactions'])
})

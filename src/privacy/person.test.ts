import { expect, it } from 'vitest'
import { charge, untilStatus } from '../../test/support/payments.ts'
import { startTestService } from '../../test/support/service.ts'
import { eventually } from '../../test/support/webhooks.ts'
import { loadSecretKey } from '../auth/secret-key.ts'
import { sql } from '../db/sql.ts'
import { erasePerson } from './person.ts'

it('erases a person who pays while the erasure waits for the charge', async () => {
  const service = await startTestService()
  const document = '71428793860'
  const person = { name: 'Zilda Tardia', document }
  const { id } = await charge(service, { amount: 1200, customer: { ...person, email: 'z@example.com' } })
  await service.call(`/transaction/${id}/cancel`, { method: 'POST' })
  await untilStatus(service, id, 'FAILED')
  const { key } = await loadSecretKey(service.db, null)
  let erased: Promise<unknown> = Promise.resolve()
  await service.db.transaction(async (tx) => {
    await tx.query(sql`update transactions set payer = ${person}::json where id = ${id}`)
    erased = erasePerson({ ...service, key }, { document, by: { actor: 'cli:test' } })
    await eventually(async () => {
      const waiting = await service.db.query(sql`
        select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`)
      return waiting.length > 0
    })
  })
  await erased
  expect(await service.db.query(sql`select customer, payer from transactions where id = ${id}`)).toEqual([
    { customer: null, payer: null },
  ])
  await service.stop()
})

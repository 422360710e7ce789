import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { recordAttribution } from '../../src/attribution/attribute.ts'
import { sql } from '../../src/db/sql.ts'
import { createSettlement } from '../../src/transactions/settle.ts'
import { dispute, disputesOf, pollUntil, returnUnannounced } from '../support/disputes.ts'
import { charge, fetchTransaction } from '../support/payments.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { payWithFault } from '../support/suspense.ts'
import { eventually } from '../support/webhooks.ts'
import { expectLedgerConsistent } from '../support/withdrawals.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService({ environment: { TOKEN_LIFETIME_SECONDS: '86400' } })
})
afterEach(async () => await expectLedgerConsistent(service))
afterAll(async () => await service.stop())

/** The bank refuses to return this amount, so a second payment stays in suspense. */
const amount = 800_004

/** Attributes a second payment of one transaction to another. Returns the ids of both, and the payment's endToEndId. */
async function attributeSecond(): Promise<{ named: string; paid: string; second: string }> {
  const { id: named } = await payWithFault(service, 'twice', { amount })
  let suspended: { id: string; end_to_end: string } | undefined
  await eventually(async () => {
    service.clock.advance(60_000)
    await service.runJob('suspense.check')
    const rows = await service.db.query<{ id: string; end_to_end: string }>(sql`
      select id, end_to_end from suspense_payments where transaction_id = ${named} and status = 'held'`)
    suspended = rows[0]
    return suspended !== undefined
  })
  const { id: paid } = await charge(service, { amount })
  const deps = { ...service, settlement: createSettlement(service), wakeDeliveries: () => {} }
  await recordAttribution(deps, { id: suspended?.id ?? '', transactionId: paid, by: { actor: 'cli:test' } })
  return { named, paid, second: suspended?.end_to_end ?? '' }
}

describe('a duplicate payment that is attributed to another transaction than it names', () => {
  it('is disputed at that transaction', async () => {
    const { named, paid, second } = await attributeSecond()
    await dispute(service, second)
    await pollUntil(service, paid, 'BLOCKED')
    expect((await fetchTransaction(service, named)).status).toBe('PAID')
  })

  it('is returned at that transaction when the bank returned it without announcing it', async () => {
    const { named, paid, second } = await attributeSecond()
    await returnUnannounced(service, second)
    await eventually(async () => (await fetchTransaction(service, paid)).status === 'INFRACTION')
    expect(await disputesOf(service, paid)).toEqual([{ state: 'returned', amount }])
    expect((await fetchTransaction(service, named)).status).toBe('PAID')
  })
})

import { afterAll, beforeAll, expect, it } from 'vitest'
import { sql } from '../../src/db/sql.ts'
import { findBreaches } from '../../src/verification.ts'
import {
  charge,
  eventsOf,
  inboxState,
  openQuietBank,
  type QuietBank,
  sendCallback,
  untilInbox,
} from '../support/payments.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { eventually } from '../support/webhooks.ts'

const dayMs = 24 * 60 * 60_000

let service: TestService
let bank: QuietBank
beforeAll(async () => {
  service = await startTestService({ environment: { RETENTION_CALLBACKS_DAYS: '8' } })
  bank = await openQuietBank(service)
})
afterAll(async () => {
  await bank.close()
  await service.stop()
})

it('posts a payment once, even when its callback arrives again after the first was deleted', async () => {
  const { id, uri } = await charge(service)
  const payment = await bank.payQuietly(uri)
  await sendCallback(service, { pix: [payment] })
  await untilInbox(service, payment.endToEndId, 'settled')
  const posted = async () =>
    await service.db.query(sql`
      select t.statuses, t.end_to_end, (select count(*) from ledger_transfers where record_id = t.id) as transfers
      from transactions t where id = ${id}`)
  const before = await posted()
  expect(before).toMatchObject([
    { statuses: ['PENDING', 'PIX_QRCODE_GENERATED', 'PAID'], end_to_end: payment.endToEndId },
  ])

  service.clock.advance(8 * dayMs - 1)
  await service.runJob('retention.forget')
  await jobIsDone()
  expect(await inboxState(service, payment.endToEndId)).toBe('settled')
  // The clock stood still while the callback was processed: above it was a millisecond younger than the limit.
  service.clock.advance(dayMs)
  await service.runJob('retention.forget')
  await eventually(async () => (await inboxState(service, payment.endToEndId)) === null)

  expect(await sendCallback(service, { pix: [payment] })).toBe(200)
  await untilInbox(service, payment.endToEndId, 'settled')
  expect(await posted()).toEqual(before)
  expect(await eventsOf(service, id)).toEqual(['transaction.pix_qrcode_generated', 'transaction.paid'])
  expect(await findBreaches(service.db)).toEqual([])
})

async function jobIsDone(): Promise<void> {
  await eventually(async () => {
    const jobs = await service.db.query(sql`select from jobs where name = 'retention.forget'`)
    return jobs.length === 0
  })
}

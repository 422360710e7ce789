import { afterAll, beforeAll, expect, it } from 'vitest'
import { settleDepsWith } from '../../test/support/acquirer.ts'
import { charge, fetchTransaction, openQuietBank, type QuietBank } from '../../test/support/payments.ts'
import { startTestService, type TestService } from '../../test/support/service.ts'
import { sql } from '../db/sql.ts'
import { checkDueTransactions } from './check.ts'

let service: TestService
let bank: QuietBank
beforeAll(async () => {
  service = await startTestService({ environment: { TOKEN_LIFETIME_SECONDS: '86400' } })
  bank = await openQuietBank(service)
})
afterAll(async () => {
  await bank.close()
  await service.stop()
})

it('does not take a code for expired because an older look at its transaction ended late and knew nothing', async () => {
  const { id } = await charge(service)
  // As it is when the acquirer did not answer.
  await service.db.query(sql`delete from events where record_id = ${id}`)
  await service.db.query(sql`
    update transactions set statuses = array['PENDING'], status_dates = status_dates[1:1], pix_uri = null, pix_expires_at = null,
      check_at = ${service.clock.now()}
    where id = ${id}`)
  const never = new AbortController().signal
  const asItIs = settleDepsWith(service, bank.handle)
  const late = settleDepsWith(service, async (request) => {
    if (!request.path.startsWith('/cob/')) return await bank.handle(request)
    // Longer than the lease: another process looks, and is answered.
    service.clock.advance(61_000)
    await checkDueTransactions(asItIs, never)
    expect((await fetchTransaction(service, id)).status).toBe('PIX_QRCODE_GENERATED')
    return { status: 503, headers: {}, body: '{}' }
  })
  await checkDueTransactions(late, never)
  service.clock.advance(10 * 60_000)
  await checkDueTransactions(asItIs, never)
  expect(await fetchTransaction(service, id)).toMatchObject({ status: 'PIX_QRCODE_GENERATED', errorMessage: null })
})

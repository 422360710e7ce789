import { pino } from 'pino'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { receiverAccount, receiverKey, simulatorCredentials } from '../../simulator/receiver-account.ts'
import { charge, fetchTransaction, openQuietBank, type QuietBank } from '../../test/support/payments.ts'
import { startTestService, type TestService } from '../../test/support/service.ts'
import { createBacenAcquirer } from '../acquirers/bacen/adapter.ts'
import type { Send } from '../acquirers/bacen/http.ts'
import { createRegistry } from '../acquirers/registry.ts'
import { sql } from '../db/sql.ts'
import { checkDueTransactions } from './check.ts'
import type { SettleDeps } from './settle.ts'

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

function depsWith(send: Send): SettleDeps {
  const acquirer = createBacenAcquirer({
    name: 'simulator',
    send,
    credentials: simulatorCredentials,
    chave: receiverKey,
    receiver: receiverAccount,
    isRemote: true,
    clock: service.clock,
  })
  return {
    db: service.db,
    clock: service.clock,
    acquirers: createRegistry([acquirer], 'simulator'),
    log: pino({ level: 'silent' }),
    nudgeDeliveries: () => {},
  }
}

it('does not take a code for expired because an older look at its transaction ended late and knew nothing', async () => {
  const { id } = await charge(service)
  // As it is when the acquirer did not answer.
  await service.db.query(sql`delete from events where record_id = ${id}`)
  await service.db.query(sql`
    update transactions set statuses = array['PENDING'], status_dates = status_dates[1:1], pix_uri = null, pix_expires_at = null,
      check_at = ${service.clock.now()}
    where id = ${id}`)
  const never = new AbortController().signal
  const asItIs = depsWith(bank.handle)
  const late = depsWith(async (request) => {
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

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

const never = new AbortController().signal

/** What the bank answers to a question about a charge, with other members. */
function saying(more: Record<string, unknown>) {
  return settleDepsWith(service, async (request) => {
    const answer = await bank.handle(request)
    if (!request.path.startsWith('/cob/')) return answer
    const { pix: _, ...cob } = JSON.parse(answer.body)
    return { ...answer, body: JSON.stringify({ ...cob, ...more }) }
  })
}

it('never takes a charge for unpaid that the acquirer calls CONCLUIDA, though it shows no payment yet', async () => {
  const { id } = await charge(service)
  const [row] = await service.db.query<{ at: Date }>(sql`select check_at as at from transactions where id = ${id}`)
  service.clock.set(row?.at ?? service.clock.now())
  await checkDueTransactions(saying({ status: 'CONCLUIDA' }), never)
  expect(await fetchTransaction(service, id)).toMatchObject({ status: 'PIX_QRCODE_GENERATED', errorMessage: null })
  // Asked again, until it shows the payment or says otherwise.
  service.clock.advance(60 * 60_000)
  await checkDueTransactions(saying({ status: 'ATIVA' }), never)
  expect(await fetchTransaction(service, id)).toMatchObject({ status: 'FAILED' })
})

it.each(['REMOVIDA_PELO_PSP', 'REMOVIDA_PELO_USUARIO_RECEBEDOR'])(
  'ends a charge that is %s when its payment page is opened, and the page shows no code any more',
  async (status) => {
    const { id } = await charge(service)
    const link = await service.call<{ url: string }>(`/transaction/${id}/payment-link`)
    const page = link.body.url.slice(service.baseUrl.length)
    service.clock.advance(2 * 60_000)
    const { body } = await service.call<{ pixResponse: { uri: string } }>(`/transaction/${id}`)
    expect((await service.call(page, { token: null })).text).toContain(body.pixResponse.uri)
    await checkDueTransactions(saying({ status }), never)
    expect(await fetchTransaction(service, id)).toMatchObject({
      status: 'FAILED',
      errorMessage: 'The acquirer removed the charge: the PIX QR code cannot be paid any more',
    })
    expect((await service.call(page, { token: null })).text).not.toContain(body.pixResponse.uri)
  },
)

it('goes on waiting for a charge that is still there when its payment page is opened', async () => {
  const { id } = await charge(service)
  const link = await service.call<{ url: string }>(`/transaction/${id}/payment-link`)
  service.clock.advance(2 * 60_000)
  await service.call(link.body.url.slice(service.baseUrl.length), { token: null })
  await checkDueTransactions(settleDepsWith(service, bank.handle), never)
  expect(await fetchTransaction(service, id)).toMatchObject({ status: 'PIX_QRCODE_GENERATED' })
})

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { receiverAccount } from '../../simulator/receiver-account.ts'
import { sql } from '../../src/db/sql.ts'
import { fromTxid, newEndToEndId, toTxid } from '../../src/pix/ids.ts'
import { manualClock } from '../support/clock.ts'
import {
  charge,
  chargeMany,
  eventsOf,
  fetchTransaction,
  inboxState,
  openQuietBank,
  payAt,
  type QuietBank,
  sendRawCallback as reportRaw,
  sendCallback,
  statusesOf,
  untilInbox,
  untilStatus,
} from '../support/payments.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { eventually, suspendJob } from '../support/webhooks.ts'

const minuteMs = 60_000
const paidHistory = ['PENDING', 'PIX_QRCODE_GENERATED', 'PAID']
const paidEvents = ['transaction.pix_qrcode_generated', 'transaction.paid']

let service: TestService
let bank: QuietBank
beforeAll(async () => {
  // Tokens live longer than the test advances the clock.
  service = await startTestService({ environment: { TOKEN_LIFETIME_SECONDS: '86400' } })
  bank = await openQuietBank(service)
})
afterAll(async () => {
  await bank.close()
  await service.stop()
})

async function expectPaidOnce(id: string): Promise<void> {
  expect(statusesOf(await untilStatus(service, id, 'PAID'))).toEqual(paidHistory)
  expect(await eventsOf(service, id)).toEqual(paidEvents)
}

async function expectUnpaid(id: string): Promise<void> {
  expect(statusesOf(await fetchTransaction(service, id))).toEqual(['PENDING', 'PIX_QRCODE_GENERATED'])
  expect(await eventsOf(service, id)).toEqual(['transaction.pix_qrcode_generated'])
}

/** The endToEndId of a payment that was never made, with the current time. */
const inventedId = () => newEndToEndId({ ispb: '60701190', at: service.clock.now() })

describe('a payment', () => {
  it('makes the transaction PAID with all details of the payment', async () => {
    const { id, uri } = await charge(service, { amount: 2590 })
    service.clock.advance(12_345)
    const paid = await payAt(service, uri)
    const transaction = await untilStatus(service, id, 'PAID')
    expect(transaction).toMatchObject({
      amount: 2590,
      amountPaid: 2590,
      paymentDate: service.clock.now().toISOString(),
      endToEnd: paid.body.endToEndId,
      errorMessage: null,
      payer: { type: 'PF', bankAccount: { ispb: paid.body.endToEndId.slice(1, 9) } },
      receiver: receiverAccount,
      statusHistory: [
        { status: 'PENDING' },
        { status: 'PIX_QRCODE_GENERATED', durationInMilliseconds: 12_345 },
        { status: 'PAID', date: service.clock.now().toISOString(), durationInMilliseconds: null },
      ],
    })
    await expectPaidOnce(id)
  })

  it('is recorded in one commit: status, history and event', async () => {
    const { id, uri } = await charge(service)
    await payAt(service, uri)
    await expectPaidOnce(id)
    const [commits] = await service.db.query<{ transaction: string; event: string }>(sql`
      select t.xmin::text as transaction, e.xmin::text as event
      from transactions t join events e on e.record_id = t.id and e.sequence = 2 where t.id = ${id}`)
    expect(commits?.event).toBe(commits?.transaction)
  })

  it('of another amount is recorded with the paid amount', async () => {
    const { id, uri } = await charge(service, { amount: 2590 })
    await payAt(service, uri, { amount: 2600 })
    expect(await untilStatus(service, id, 'PAID')).toMatchObject({ amount: 2590, amountPaid: 2600 })
  })

  it('is made once when eight are tried at the same moment', async () => {
    const { id, uri } = await charge(service)
    const tries = await Promise.all(Array.from({ length: 8 }, async () => await payAt(service, uri)))
    const [paid, ...refused] = tries.sort((a, b) => a.status - b.status)
    expect(paid?.status).toBe(200)
    expect(refused.map(({ status, body }) => [status, body.errors?.[0]?.code])).toEqual(
      refused.map(() => [422, 'already_paid']),
    )
    await expectPaidOnce(id)
    expect(await fetchTransaction(service, id)).toMatchObject({ endToEnd: paid?.body.endToEndId })
  })
})

describe('a callback', () => {
  it('that arrives twenty times, concurrently and again later, is posted once', async () => {
    const { id, uri } = await charge(service)
    const payment = await bank.payQuietly(uri)
    const reportTwenty = async () =>
      await Promise.all(Array.from({ length: 20 }, () => sendCallback(service, { pix: [payment] })))
    expect(new Set(await reportTwenty())).toEqual(new Set([200]))
    await expectPaidOnce(id)
    await reportTwenty()
    await untilInbox(service, payment.endToEndId, 'settled')
    await expectPaidOnce(id)
  })

  it('may report many payments, others’ payments too, and one of them twice', async () => {
    const charged = await chargeMany(service, 30)
    const payments = []
    for (const { uri } of charged) payments.push(await bank.payQuietly(uri))
    const foreign = { endToEndId: inventedId(), valor: '1.00', horario: service.clock.now().toISOString() }
    expect(await sendCallback(service, { pix: [...payments, foreign, { nothing: true }, payments[0]] })).toBe(200)
    for (const { id } of charged) await expectPaidOnce(id)
    await untilInbox(service, foreign.endToEndId, 'unconfirmed')
    for (const { endToEndId } of payments) await untilInbox(service, endToEndId, 'settled')
  })

  it('may arrive in any order, late, and at the same time as the poller finds the payment', async () => {
    const charged = await chargeMany(service, 12)
    const payments = []
    for (const { uri } of charged) payments.push(await bank.payQuietly(uri))
    await service.runJob('transactions.poll')
    const shuffled = [...payments, ...payments].sort(() => Math.random() - 0.5)
    await Promise.all(shuffled.map(async (payment) => await sendCallback(service, { pix: [payment] })))
    await service.runJob('transactions.poll')
    for (const { id } of charged) await expectPaidOnce(id)
    service.clock.advance(60 * minuteMs)
    expect(await sendCallback(service, { pix: payments })).toBe(200)
    for (const { id } of charged) await expectPaidOnce(id)
  })

  it('is answered only after it is stored', async () => {
    const { id, uri } = await charge(service)
    const payment = await bank.payQuietly(uri)
    const blocker = await service.db.pool.connect()
    await blocker.query('begin; lock table callback_inbox in share mode')
    let isAnswered = false
    const answered = sendCallback(service, { pix: [payment] }).finally(() => {
      isAnswered = true
    })
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect(isAnswered).toBe(false)
    await blocker.query('commit')
    blocker.release()
    expect(await answered).toBe(200)
    expect(await inboxState(service, payment.endToEndId)).not.toBeNull()
    await expectPaidOnce(id)
  })

  it('is not answered 200 when it cannot be stored, and the payment is found anyway', async () => {
    const { id, uri } = await charge(service)
    const payment = await bank.payQuietly(uri)
    await service.db.query(sql`alter table callback_inbox rename to inbox_away`)
    const status = await sendCallback(service, { pix: [payment] })
    await service.db.query(sql`alter table inbox_away rename to callback_inbox`)
    expect(status).toBe(500)
    await service.runJob('transactions.poll')
    await expectPaidOnce(id)
  })
})

describe('a callback that cannot be trusted', () => {
  it('for another’s charge and a payment that never arrived ends unconfirmed', async () => {
    const [ours, theirs] = [inventedId(), inventedId()]
    await sendCallback(service, { pix: [{ endToEndId: ours, txid: 'f'.repeat(32) }] })
    await sendCallback(service, { pix: [{ endToEndId: theirs, txid: 'anothershopsorder000000000001' }] })
    await untilInbox(service, ours, 'unconfirmed')
    await untilInbox(service, theirs, 'unconfirmed')
  })

  it('for a transaction that nobody paid ends unconfirmed', async () => {
    const { id } = await charge(service)
    const endToEndId = inventedId()
    const forged = { endToEndId, txid: toTxid(id), valor: '10.00', horario: service.clock.now().toISOString() }
    expect(await sendCallback(service, { pix: [forged] })).toBe(200)
    await untilInbox(service, endToEndId, 'unconfirmed')
    await expectUnpaid(id)
  })

  it('with the payment of another transaction pays that one, once and immediately, whatever follows', async () => {
    const [victim, other] = [await charge(service), await charge(service)]
    const payment = await bank.payQuietly(other.uri)
    await sendCallback(service, { pix: [{ ...payment, txid: toTxid(victim.id) }] })
    await sendCallback(service, { pix: [payment] })
    await expectPaidOnce(other.id)
    await sendCallback(service, { pix: [payment] })
    await untilInbox(service, payment.endToEndId, 'settled')
    await expectPaidOnce(other.id)
    await expectUnpaid(victim.id)
  })

  it('is refused at another address', async () => {
    const { uri } = await charge(service)
    const pix = [await bank.payQuietly(uri)]
    const [row] = await service.db.query<{ url: string }>(sql`select url from simulator.webhooks`)
    const path = new URL(row?.url ?? '').pathname
    const wrong = [
      `${path}x`,
      path.slice(0, -1),
      path.replace('simulator', 'other'),
      '/callbacks/simulator',
      '/callbacks',
    ]
    for (const address of wrong.flatMap((one) => [one, `${one}/pix`])) {
      expect((await service.call(address, { body: { pix }, token: null })).status).toBe(404)
    }
    // Its body is not even read, whatever its size.
    const tooLarge = { rawBody: `"${'x'.repeat(2_000_000)}"`, token: null }
    expect((await service.call(`${path}x`, tooLarge)).status).toBe(404)
    expect((await service.call(path, { body: { pix }, token: null })).status).toBe(200)
    expect((await service.call(path, { token: null })).status).toBe(405)
  })

  it.each([
    ['not JSON', '{"pix":'],
    ['a list of nothing that can be read', '[null]'],
    ['without a list of payments', '{"pix":{}}'],
    ['with nothing that can be read', '{"pix":[{"endToEndId":"short"},null,1,"E"]}'],
    ['with text that cannot be kept', '{"pix":[{"endToEndId":"E\\u0000"}]}'],
  ])('is refused when it is %s', async (_, body) => {
    expect((await reportRaw(service, body)).status).toBe(422)
  })

  it('is refused when it is larger than any valid one', async () => {
    const huge = JSON.stringify({ pix: [], more: 'x'.repeat(1024 * 1024) })
    const answer = await reportRaw(service, huge)
    expect([answer.status, answer.text]).toEqual([413, expect.stringContaining('1 MiB at most')])
  })

  it('is answered when it reports nothing', async () => {
    expect(await sendCallback(service, { pix: [] })).toBe(200)
  })
})

describe('the poller', () => {
  it('finds the payments without a callback', async () => {
    const charged = await chargeMany(service, 12)
    for (const { uri } of charged) await bank.payQuietly(uri)
    await service.runJob('transactions.poll')
    for (const { id } of charged) await expectPaidOnce(id)
  })

  it('does not let one payment that cannot be posted delay the others, and posts it once that is possible', async () => {
    const [bad, rival, good] = [await charge(service), await charge(service), await charge(service)]
    // The schedule must not run it before this test does.
    await suspendJob(service.db, 'transactions.poll')
    const payment = await bank.payQuietly(bad.uri)
    // Another transaction of this merchant has the same payment: the database will refuse a second one.
    await service.db.query(sql`
      update transactions set end_to_end = ${payment.endToEndId}, amount_paid = 1, payment_date = now() where id = ${rival.id}`)
    await bank.payQuietly(good.uri)
    await service.runJob('transactions.poll')
    await expectPaidOnce(good.id)
    await expectUnpaid(bad.id)
    await service.db.query(sql`
      update transactions set end_to_end = null, amount_paid = null, payment_date = null where id = ${rival.id}`)
    await expectPaidOnce(bad.id)
  })
})

describe('a code that expires', () => {
  const expirationSeconds = 600

  it('fails five minutes after its expiry and not earlier, with an event', async () => {
    // This one is due earlier, so that the check is known to have run.
    const first = await charge(service, { pix: { expirationSeconds: expirationSeconds / 2 } })
    const { id, uri } = await charge(service, { pix: { expirationSeconds } })
    service.clock.advance(expirationSeconds * 1000 + 5 * minuteMs - 1)
    await service.runJob('transactions.check')
    await untilStatus(service, first.id, 'FAILED')
    await expectUnpaid(id)
    expect((await payAt(service, uri)).body.errors?.[0]?.code).toBe('charge_expired')

    service.clock.advance(1)
    await service.runJob('transactions.check')
    const failed = await untilStatus(service, id, 'FAILED')
    expect(failed).toMatchObject({ errorMessage: 'PIX QR code expired', statusHistory: [{}, {}, { status: 'FAILED' }] })
    expect(failed.amountPaid).toBeUndefined()
    expect(await eventsOf(service, id)).toEqual(['transaction.pix_qrcode_generated', 'transaction.failed'])
  })

  it('is PAID when the payment arrived at the last moment without a callback', async () => {
    const { id, uri } = await charge(service, { pix: { expirationSeconds } })
    service.clock.advance(expirationSeconds * 1000 - 1)
    await bank.payQuietly(uri)
    service.clock.advance(5 * minuteMs + 1)
    await service.runJob('transactions.check')
    await expectPaidOnce(id)
  })

  it('is PAID when a callback arrives during the grace period', async () => {
    const { id, uri } = await charge(service, { pix: { expirationSeconds } })
    const payment = await bank.payQuietly(uri)
    service.clock.advance(expirationSeconds * 1000 + 4 * minuteMs)
    await sendCallback(service, { pix: [payment] })
    await expectPaidOnce(id)
    service.clock.advance(2 * minuteMs)
    await service.runJob('transactions.check')
    await service.runJob('transactions.poll')
    await untilInbox(service, payment.endToEndId, 'settled')
    await expectPaidOnce(id)
  })

  it.each(['callback', 'poller'])(
    'becomes PAID after it FAILED when the money arrived after all, by the %s',
    async (source) => {
      const { id, uri } = await charge(service, { pix: { expirationSeconds } })
      const late = await openQuietBank(service, manualClock(new Date(service.clock.now().getTime() + 590_000)))
      service.clock.advance(expirationSeconds * 1000 + 5 * minuteMs)
      await service.runJob('transactions.check')
      await untilStatus(service, id, 'FAILED')
      // A bank whose clock is stopped: for the bank the code has not expired.
      const payment = await late.payQuietly(uri)
      if (source === 'callback') await sendCallback(service, { pix: [payment] })
      else {
        await service.db.query(sql`update acquirer_cursors set listed_until = listed_until - interval '30 minutes'`)
        await service.runJob('transactions.poll')
      }
      const paid = await untilStatus(service, id, 'PAID')
      expect(statusesOf(paid)).toEqual(['PENDING', 'PIX_QRCODE_GENERATED', 'FAILED', 'PAID'])
      expect(paid).toMatchObject({ errorMessage: null, endToEnd: payment.endToEndId, amountPaid: 1000 })
      expect((await eventsOf(service, id)).at(-1)).toBe('transaction.paid')
      await late.close()
    },
  )
})

it('a transaction is paid even when the callback arrives before the transaction is committed', async () => {
  // The simulator creates a charge of this amount and answers after the adapter has stopped waiting.
  const created = service.call<{ code: string; transactionId: string }>('/transaction', {
    body: { amount: 5_040_504, paymentMethod: 'PIX', pix: {} },
  })
  let txid = ''
  await eventually(async () => {
    const rows = await service.db.query<{ txid: string }>(
      sql`select txid from simulator.charges where amount = 5040504`,
    )
    txid = rows[0]?.txid ?? ''
    return txid !== ''
  })
  const { body } = await bank.request('GET', `/cob/${txid}`)
  const payment = await bank.payQuietly(String(body.pixCopiaECola))
  expect(await sendCallback(service, { pix: [payment] })).toBe(200)
  expect((await created).body).toMatchObject({ code: 'acquirer_unavailable', transactionId: fromTxid(txid) })
  await service.runJob('transactions.poll')
  const paid = await untilStatus(service, fromTxid(txid) ?? '', 'PAID')
  expect(statusesOf(paid)).toEqual(paidHistory)
  expect(paid.pixResponse?.uri).toBe(body.pixCopiaECola)
  expect(await eventsOf(service, paid.id)).toEqual(paidEvents)
})

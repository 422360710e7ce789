import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { settleDepsWith } from '../../test/support/acquirer.ts'
import {
  charge,
  fetchTransaction,
  openQuietBank,
  payAt,
  type QuietBank,
  statusesOf,
  untilStatus,
} from '../../test/support/payments.ts'
import { payOne, refund } from '../../test/support/refunds.ts'
import type { Problem } from '../../test/support/requests.ts'
import { startTestService, type TestService } from '../../test/support/service.ts'
import type { Send } from '../acquirers/bacen/http.ts'
import { sql } from '../db/sql.ts'
import { assert } from '../lib/assert.ts'
import { AppError } from '../lib/errors.ts'
import { findBreaches } from '../verification.ts'
import { cancelTransaction } from './cancel.ts'
import { checkDueTransactions, checkOpen, expiryGraceMs } from './check.ts'
import { findTransaction } from './store.ts'

let service: TestService
let bank: QuietBank
let merchantId: string
beforeAll(async () => {
  service = await startTestService({ environment: { TOKEN_LIFETIME_SECONDS: '86400' } })
  bank = await openQuietBank(service)
  const [client] = await service.db.query<{ merchant_id: string }>(sql`select merchant_id from clients`)
  merchantId = client?.merchant_id ?? ''
})
afterAll(async () => {
  expect(await findBreaches(service.db)).toEqual([])
  await bank.close()
  await service.stop()
})

type Canceled = Problem & { failureCode?: string; transactionStatus?: string }
const cancel = async (id: string) => await service.call<Canceled>(`/transaction/${id}/cancel`, { body: {} })
const never = new AbortController().signal
const expired = { status: 'FAILED', errorMessage: 'PIX QR code expired', failureCode: 'expired' }
const canceled = { status: 'FAILED', errorMessage: 'The charge was canceled', failureCode: 'canceled' }

/** Cancels at the bank that `send` stands for. Returns the transaction's status, or the code of the error. */
async function cancelAt(id: string, send: Send): Promise<string> {
  try {
    const { status } = await cancelTransaction(settleDepsWith(service, send), { merchantId, id, by: null })
    return status
  } catch (error) {
    if (error instanceof AppError) return error.code
    throw error
  }
}

/** The bank, with `answer` in place of its answer to requests to remove a charge. */
function removing(answer: (request: Parameters<Send>[0]) => ReturnType<Send>): Send {
  return async (request) => (request.method === 'PATCH' ? await answer(request) : await bank.handle(request))
}

const lost = { status: 504, headers: {}, body: '{}' }
const checkAtOf = async (id: string) => {
  const [row] = await service.db.query<{ check_at: Date | null; cancel_requested_at: Date | null }>(
    sql`select check_at, cancel_requested_at from transactions where id = ${id}`,
  )
  return row
}
const eventsOf = async (id: string) =>
  (await service.call<{ data: { type: string }[] }>(`/transaction/${id}/event`)).body.data
    .map(({ type }) => type)
    .toSorted()

/** Moves the clock to when the transaction is due, and checks it. The service's own worker may be faster. */
async function checkLater(id: string, send: Send = bank.handle): Promise<void> {
  const row = await checkAtOf(id)
  if (row?.check_at && row.check_at > service.clock.now()) service.clock.set(row.check_at)
  await checkDueTransactions(settleDepsWith(service, send), never)
}

/** Checks the transaction now, whenever it is due. */
async function checkNow(id: string, send: Send): Promise<void> {
  const row = await findTransaction(service.db, merchantId, id)
  if (row) await checkOpen(settleDepsWith(service, send), row)
}

it('removes the charge at the acquirer and fails the transaction, once', async () => {
  const { id, uri } = await charge(service)
  const answers = await Promise.all([cancel(id), cancel(id)])
  for (const { status, body } of [...answers, await cancel(id)]) {
    expect(status).toBe(200)
    expect(body).toMatchObject({ id, ...canceled })
  }
  const transaction = await fetchTransaction(service, id)
  expect(statusesOf(transaction)).toEqual(['PENDING', 'PIX_QRCODE_GENERATED', 'FAILED'])
  expect(await eventsOf(id)).toEqual(['transaction.failed', 'transaction.pix_qrcode_generated'])
  expect((await payAt(service, uri)).body.errors?.[0]?.code).toBe('charge_removed')
  expect((await bank.truth()).payments).toEqual([])
  expect((await checkAtOf(id))?.check_at).toBeNull()
})

it('answers 404 for an unknown id, and refuses a transaction that has expired', async () => {
  expect((await cancel('0b7f3c0e-5c7b-4a5e-9a0d-3a1f4be0a2d1')).status).toBe(404)
  const { id } = await charge(service)
  service.clock.advance(1_800_000 + expiryGraceMs)
  await checkLater(id)
  expect(await untilStatus(service, id, 'FAILED')).toMatchObject(expired)
  const { status, body } = await cancel(id)
  expect(status).toBe(409)
  expect(body).toMatchObject({ code: 'cancel_not_possible', transactionStatus: 'FAILED' })
  expect(body.errors).toMatchObject([
    { field: 'status', code: 'has_failed', message: 'is FAILED: there is no open charge to cancel' },
  ])
})

describe('a payment', () => {
  it('that the acquirer has but did not report wins', async () => {
    const { id, uri } = await charge(service)
    await bank.payQuietly(uri)
    const { status, body } = await cancel(id)
    expect(status).toBe(409)
    expect(body).toMatchObject({ code: 'cancel_not_possible', transactionStatus: 'PAID' })
    expect(body.errors).toMatchObject([{ field: 'status', code: 'already_paid' }])
    expect(await fetchTransaction(service, id)).toMatchObject({ status: 'PAID', errorMessage: null })
    expect((await cancel(id)).body.transactionStatus).toBe('PAID')
  })

  it('that arrives after the request was accepted, before the charge is removed, wins', async () => {
    const { id, uri } = await charge(service)
    const paidFirst = removing(async (request) => {
      await bank.payQuietly(uri)
      return await bank.handle(request)
    })
    expect(await cancelAt(id, paidFirst)).toBe('cancel_not_possible')
    expect(await fetchTransaction(service, id)).toMatchObject({ status: 'PAID' })
  })

  it('at the same time either wins or is refused, and the bank agrees', async () => {
    const charges = await Promise.all(Array.from({ length: 12 }, async () => await charge(service)))
    const raced = charges.map(async ({ id, uri }, index) => {
      const paying = async () => (await payAt(service, uri)).status === 200
      const [isPaid, { status }] =
        index % 2 ? await Promise.all([paying(), cancel(id)]) : await swapped(Promise.all([cancel(id), paying()]))
      expect({ id, status }).toEqual({ id, status: isPaid ? 409 : 200 })
      await untilStatus(service, id, isPaid ? 'PAID' : 'FAILED')
      return isPaid ? id.replaceAll('-', '') : null
    })
    const paid = (await Promise.all(raced)).filter((txid) => txid !== null)
    const txids = new Set(charges.map(({ id }) => id.replaceAll('-', '')))
    const atBank = (await bank.truth()).payments.map(({ paysTxid }) => paysTxid).filter((txid) => txids.has(txid))
    expect(atBank.toSorted()).toEqual(paid.toSorted())
  })

  it('that is on its way when the charge is removed is credited when it arrives', async () => {
    const { id, uri } = await charge(service)
    expect((await payAt(service, uri, { behaviour: 'slow' })).status).toBe(200)
    expect((await cancel(id)).body).toMatchObject(canceled)
    service.clock.advance(10 * 60_000)
    await service.runJob('transactions.poll')
    const paid = await untilStatus(service, id, 'PAID')
    expect(paid).toMatchObject({ errorMessage: null })
    expect(paid).not.toHaveProperty('failureCode')
    expect(await eventsOf(id)).toEqual(['failed', 'paid', 'pix_qrcode_generated'].map((type) => `transaction.${type}`))
  })
})

async function swapped<One, Other>(both: Promise<[One, Other]>): Promise<[Other, One]> {
  const [one, other] = await both
  return [other, one]
}

describe('while the outcome is not known', () => {
  it.each([
    ['the answer of the acquirer is lost', true],
    ['the request to the acquirer is lost', false],
  ])('if %s, the transaction stays open, and the worker cancels it', async (_, isRemoved) => {
    const { id } = await charge(service)
    const losing = removing(async (request) => {
      if (isRemoved) await bank.handle(request)
      return lost
    })
    expect(await cancelAt(id, losing)).toBe('acquirer_unavailable')
    expect(await fetchTransaction(service, id)).toMatchObject({ status: 'PIX_QRCODE_GENERATED', errorMessage: null })
    expect((await checkAtOf(id))?.check_at).toEqual(new Date(service.clock.now().getTime() + 5_000))
    await expect(checkNow(id, losing)).rejects.toThrow('504')
    expect(await fetchTransaction(service, id)).toMatchObject({ status: 'PIX_QRCODE_GENERATED' })
    await checkLater(id)
    expect(await untilStatus(service, id, 'FAILED')).toMatchObject(canceled)
    expect(await eventsOf(id)).toEqual(['transaction.failed', 'transaction.pix_qrcode_generated'])
  })

  it('a check that began before the request also fails the charge as canceled', async () => {
    const { id } = await charge(service)
    const before = await findTransaction(service.db, merchantId, id)
    const losing = removing(async (request) => {
      await bank.handle(request)
      return lost
    })
    expect(await cancelAt(id, losing)).toBe('acquirer_unavailable')
    if (before) await checkOpen(settleDepsWith(service, bank.handle), before)
    expect(await fetchTransaction(service, id)).toMatchObject(canceled)
  })

  it('a payment still wins', async () => {
    const { id, uri } = await charge(service)
    expect(
      await cancelAt(
        id,
        removing(async () => lost),
      ),
    ).toBe('acquirer_unavailable')
    await bank.payQuietly(uri)
    await checkLater(id)
    await untilStatus(service, id, 'PAID')
  })

  it('the acquirer may say that it removed a charge which it still shows as payable', async () => {
    const { id } = await charge(service)
    const pretending = removing(async () => ({ status: 200, headers: {}, body: '{}' }))
    expect(await cancelAt(id, pretending)).toBe('acquirer_unavailable')
    await expect(checkNow(id, pretending)).rejects.toThrow('still shows')
    expect(await fetchTransaction(service, id)).toMatchObject({ status: 'PIX_QRCODE_GENERATED' })
    // The worker would ask the bank itself, which has the charge.
    await service.db.query(sql`update transactions set check_at = null where id = ${id}`)
    service.clock.advance(1_800_000 + expiryGraceMs)
    await checkNow(id, pretending)
    expect(await fetchTransaction(service, id)).toMatchObject(expired)
  })

  it('a cancel is answered with an error as long as it is unknown whether there is a charge', async () => {
    const { id } = await charge(service)
    await toPending(id)
    const { status, body } = await cancel(id)
    expect({ status, code: body.code }).toEqual({ status: 500, code: 'acquirer_unavailable' })
    await checkLater(id)
    await checkLater(id)
    const transaction = await untilStatus(service, id, 'FAILED')
    expect(transaction).toMatchObject(canceled)
    expect(statusesOf(transaction)).toEqual(['PENDING', 'PIX_QRCODE_GENERATED', 'FAILED'])
  })

  it('a check that began before the request gives the code, and the cancel follows at once', async () => {
    const { id } = await charge(service)
    await toPending(id)
    // Due by another clock, so that the service's own worker is not faster.
    const now = new Date(service.clock.now().getTime() + 1_000)
    await service.db.query(sql`update transactions set check_at = ${now} where id = ${id}`)
    const check = async (send: Send) =>
      await checkDueTransactions({ ...settleDepsWith(service, send), clock: { now: () => now } }, never)
    const answers: string[] = []
    await check(async (request) => {
      const answer = await bank.handle(request)
      if (request.path.includes(id.replaceAll('-', '')) && answers.length === 0)
        answers.push(await cancelAt(id, bank.handle))
      return answer
    })
    expect(answers).toEqual(['acquirer_unavailable'])
    await check(bank.handle)
    const transaction = await untilStatus(service, id, 'FAILED')
    expect(transaction).toMatchObject(canceled)
    expect(statusesOf(transaction)).toEqual(['PENDING', 'PIX_QRCODE_GENERATED', 'FAILED'])
  })

  it('a check that began before the request and finds nothing new leaves the cancel as it is', async () => {
    const { id } = await charge(service)
    const before = await findTransaction(service.db, merchantId, id)
    assert(before, 'the transaction exists')
    const cancelMeanwhile: Send = async (request) => {
      const answer = await bank.handle(request)
      expect(
        await cancelAt(
          id,
          removing(async () => lost),
        ),
      ).toBe('acquirer_unavailable')
      return answer
    }
    await checkOpen(settleDepsWith(service, cancelMeanwhile), before)
    expect((await checkAtOf(id))?.check_at).toEqual(new Date(service.clock.now().getTime() + 5_000))
    await checkLater(id)
    expect(await untilStatus(service, id, 'FAILED')).toMatchObject(canceled)
  })

  it('no charge is created that would only be removed', async () => {
    const { id } = await charge(service)
    await toPending(id)
    await service.db.query(sql`delete from simulator.charges where txid = ${id.replaceAll('-', '')}`)
    expect((await cancel(id)).status).toBe(500)
    const created: unknown[] = []
    await checkLater(id, async (request) => {
      if (request.method === 'PUT') created.push(request)
      return await bank.handle(request)
    })
    expect(await untilStatus(service, id, 'FAILED')).toMatchObject(canceled)
    expect(created).toEqual([])
  })
})

/** The state of the row when no acquirer answered to the create. */
async function toPending(id: string): Promise<void> {
  await service.db.query(sql`delete from events where record_id = ${id}`)
  await service.db.query(sql`
    update transactions set statuses = array['PENDING'], status_dates = status_dates[1:1], pix_uri = null, pix_expires_at = null
    where id = ${id}`)
}

it('leaves the charge open and payable if the acquirer refuses, and checks it again when it has expired', async () => {
  const { id, uri } = await charge(service)
  const refusing = removing(async () => ({ status: 400, headers: {}, body: '{"detail":"não permitido"}' }))
  expect(await cancelAt(id, refusing)).toBe('acquirer_refused')
  const { pixResponse } = await fetchTransaction(service, id)
  const expiresAt = new Date(pixResponse?.expirationDate ?? '').getTime()
  expect(await checkAtOf(id)).toEqual({ check_at: new Date(expiresAt + expiryGraceMs), cancel_requested_at: null })
  expect((await payAt(service, uri)).status).toBe(200)
  await untilStatus(service, id, 'PAID')
})

it('says so when the acquirer reports the charge as paid and does not show the payment', async () => {
  const { id } = await charge(service)
  const send: Send = async (request) => {
    if (request.method === 'PATCH') return { status: 400, headers: {}, body: '{"detail":"cobrança concluída"}' }
    const answer = await bank.handle(request)
    if (!request.path.startsWith('/cob/')) return answer
    return { ...answer, body: JSON.stringify({ ...JSON.parse(answer.body), status: 'CONCLUIDA' }) }
  }
  await expect(cancelTransaction(settleDepsWith(service, send), { merchantId, id, by: null })).rejects.toMatchObject({
    code: 'acquirer_unavailable',
    details: {
      detail: expect.stringMatching(/^The acquirer reports the charge as paid but does not show the payment/),
    },
  })
  expect(await fetchTransaction(service, id)).toMatchObject({ status: 'PIX_QRCODE_GENERATED' })
})

it('ends a cancel that is never answered when the charge has expired and the acquirer says that it is unpaid', async () => {
  const { id } = await charge(service)
  const silent = removing(async () => lost)
  expect(await cancelAt(id, silent)).toBe('acquirer_unavailable')
  // Only this test checks it.
  await service.db.query(sql`update transactions set check_at = check_at + interval '1 year' where id = ${id}`)
  await expect(checkNow(id, silent)).rejects.toThrow('answered 504')
  const { pixResponse } = await fetchTransaction(service, id)
  service.clock.set(new Date(new Date(pixResponse?.expirationDate ?? '').getTime() + expiryGraceMs))
  const away: Send = async (request) => (request.isToken ? await bank.handle(request) : lost)
  await expect(checkNow(id, away)).rejects.toThrow('answered 504')
  expect(await fetchTransaction(service, id)).toMatchObject({ status: 'PIX_QRCODE_GENERATED' })
  await checkNow(id, silent)
  expect(await fetchTransaction(service, id)).toMatchObject(expired)
})

it('proposes no refund of a payment that is already refunded', async () => {
  const { id } = await payOne(service)
  await refund(service, id)
  const { status, body } = await cancel(id)
  expect(status).toBe(409)
  expect(body.detail).toMatch(/^status is (PROCESSING_REFUND|REFUNDED): it was paid, so it cannot be canceled\.$/)
})

it('reports an internal error as such, and the worker still finishes', async () => {
  const { id } = await charge(service)
  const deps = settleDepsWith(service, bank.handle)
  const dying = { ...deps, settlement: { ...deps.settlement, fail: () => Promise.reject(new Error('killed')) } }
  await expect(cancelTransaction(dying, { merchantId, id, by: null })).rejects.toThrow('killed')
  expect(await fetchTransaction(service, id)).toMatchObject({ status: 'PIX_QRCODE_GENERATED' })
  await checkLater(id)
  expect(await untilStatus(service, id, 'FAILED')).toMatchObject(canceled)
})

it('queries the acquirer that gave the code only: without it in the configuration, the outcome is unknown', async () => {
  const { id } = await charge(service)
  const elsewhere = settleDepsWith(service, bank.handle, { name: 'another' })
  await expect(cancelTransaction(elsewhere, { merchantId, id, by: null })).rejects.toMatchObject({
    code: 'acquirer_unavailable',
  })
})

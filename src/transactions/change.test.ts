import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newTransactionRow } from '../../test/support/new-transaction.ts'
import { startTestService, type TestService } from '../../test/support/service.ts'
import { sql } from '../db/sql.ts'
import { assert } from '../lib/assert.ts'
import { newUuid } from '../lib/secrets.ts'
import type { AccountHolder } from '../pix/holder.ts'
import { changeStatus } from './change.ts'
import { createTransactionWriter } from './insert.ts'
import { type TransactionStatus, transactionTransitions } from './status.ts'
import { type Changeable, lockTransaction } from './store.ts'
import { loadTransactionVersions } from './view.ts'

let service: TestService
let merchantId: string
beforeAll(async () => {
  // Longer than the test moves the clock.
  service = await startTestService({ environment: { TOKEN_LIFETIME_SECONDS: '86400' } })
  const [client] = await service.db.query<{ merchant_id: string }>(sql`select merchant_id from clients`)
  merchantId = client?.merchant_id ?? ''
})
afterAll(async () => await service.stop())

const initialStatuses: TransactionStatus[][] = [['PENDING', 'PIX_QRCODE_GENERATED'], ['PENDING'], ['PENDING', 'FAILED']]

describe('an event', () => {
  it('contains what GET returned at its moment, however much later it is delivered', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...initialStatuses),
        fc.array(fc.nat(), { maxLength: 8 }),
        async (statuses, choices) => {
          const id = await accept(statuses)
          const answered = statuses.length > 1 ? [await get(id)] : []
          for (const choice of choices) if (await change(id, choice)) answered.push(await get(id))
          // All of them at the end, as after a day without a receiver, and in any order.
          expect(await loadVersions(id)).toEqual(answered)
        },
      ),
      { numRuns: 60 },
    )
  })

  it('has a sequence from 1, and the date of the last entry of the history', async () => {
    const id = await accept(['PENDING'])
    for (const choice of [0, 0, 0]) await change(id, choice)
    const events = await service.db.query(sql`
      select sequence, type, occurred_at as at from events where record_id = ${id} order by sequence`)
    const { statusHistory } = (await get(id)) as { statusHistory: { status: string; date: string }[] }
    expect(events).toEqual(
      statusHistory.slice(1).map(({ status, date }, index) => ({
        sequence: index + 1,
        type: `transaction.${status.toLowerCase()}`,
        at: new Date(date),
      })),
    )
  })
})

it('keeps the dates of a history in order, even when the clocks of several machines differ', async () => {
  const id = await accept(['PENDING', 'PIX_QRCODE_GENERATED'])
  const before = service.clock.now()
  await move(id, 'FAILED', new Date(before.getTime() - 60_000))
  const { statusHistory, updatedAt } = (await get(id)) as { statusHistory: object[]; updatedAt: string }
  expect(statusHistory).toMatchObject([
    { durationInMilliseconds: 0 },
    { durationInMilliseconds: 0 },
    { durationInMilliseconds: null },
  ])
  expect(updatedAt).toBe(before.toISOString())
})

it('posts a payment in the commit that makes its transaction PAID, and nothing when it is PAID again', async () => {
  const id = await accept(['PENDING', 'PIX_QRCODE_GENERATED'])
  for (const to of ['FAILED', 'PAID', 'BLOCKED', 'PAID'] as const) await move(id, to, service.clock.now())
  const transfers = await service.db.query(sql`
    select event_key, kind, debit, credit, amount from ledger_transfers where record_id = ${id} order by position`)
  expect(transfers).toEqual([
    {
      event_key: `transaction:${id}:paid`,
      kind: 'payment',
      debit: 'acquirer:simulator',
      credit: 'available',
      amount: 2600,
    },
    { event_key: `transaction:${id}:paid`, kind: 'fee', debit: 'available', credit: 'fees', amount: 7 },
  ])
})

it('refuses a forbidden transition, and leaves row, history and events unchanged', async () => {
  const id = await accept(['PENDING', 'PIX_QRCODE_GENERATED'])
  const before = [await get(id), await loadVersions(id)]
  await expect(move(id, 'REFUNDED', service.clock.now())).rejects.toThrow('may move')
  expect([await get(id), await loadVersions(id)]).toEqual(before)
})

it('changes nothing when any part of its commit fails', async () => {
  const id = await accept(['PENDING', 'PIX_QRCODE_GENERATED'])
  const before = [await get(id), await loadVersions(id)]
  const failed = service.db.transaction(async (tx) => {
    const row = await lockTransaction(tx, merchantId, id)
    if (row) await changeStatus(tx, row, { to: 'FAILED', now: service.clock.now(), checkAt: null, set: {} })
    throw new Error('the power went')
  })
  await expect(failed).rejects.toThrow('the power went')
  expect([await get(id), await loadVersions(id)]).toEqual(before)
})

/** A new transaction: with a code, with an unknown outcome, or refused. */
async function accept(statuses: TransactionStatus[]): Promise<string> {
  const now = service.clock.now()
  const hasCode = statuses.includes('PIX_QRCODE_GENERATED')
  const created = newTransactionRow({
    merchant_id: merchantId,
    external_code: 'order-0001',
    webhook_url: 'https://127.0.0.1:1/hook?a=1',
    customer: {
      name: 'José da Conceição',
      document: { value: '52998224725', type: 'CPF' },
      email: 'Jose@example.com',
      birthdate: '1990-01-31',
    },
    seller: { name: 'Loja', document: { value: '12ABC34501DE35', type: 'CNPJ' } },
    address: {
      zipCode: '01001-000',
      number: '1',
      street: 'Praça da Sé',
      neighborhood: 'Sé',
      city: 'São Paulo',
      state: 'SP',
      country: 'BR',
    },
    items: [{ title: 'Café', unitPrice: 2590, quantity: 1 }],
    description: 'Pedido 42',
    metadata: { z: 1, a: [null, { ok: true }], text: 'naïve \u2028' },
    created_at: now,
    pix_uri: hasCode ? '00020101021226' : null,
    pix_expires_at: hasCode ? new Date(now.getTime() + 1_800_000) : null,
    statuses,
    status_dates: statuses.map(() => now),
    error_message: statuses.includes('FAILED') ? 'refused' : null,
  })
  await createTransactionWriter(service.db)(created)
  return created.id
}

/** Makes one of the transitions that are allowed now; false when there is none. */
async function change(id: string, choice: number): Promise<boolean> {
  service.clock.advance(1 + (choice % 90_000))
  const { status } = (await get(id)) as { status: TransactionStatus }
  const next = transactionTransitions[status]
  const to = next[choice % next.length]
  if (!to) return false
  await move(id, to, service.clock.now())
  return true
}

const holder: AccountHolder = {
  type: 'PF',
  name: 'Ana Ávila',
  document: '52998224725',
  bankAccount: { type: 'CHECKING', branch: '1', number: '2', digit: '3', ispb: '60701190' },
  pix: { key: 'ana@example.com', type: 'EMAIL' },
}

async function move(id: string, to: TransactionStatus, now: Date): Promise<void> {
  await service.db.transaction(async (tx) => {
    const row = await lockTransaction(tx, merchantId, id)
    if (!row) throw new Error('it is not there')
    // A payment also brings the code of a transaction whose code was never known.
    const code =
      to === 'PIX_QRCODE_GENERATED' || (to === 'PAID' && row.pix_uri === null)
        ? { pix_uri: `code at ${now.toISOString()}`, pix_expires_at: now }
        : {}
    await changeStatus(tx, row, { to, now, checkAt: null, set: { ...code, ...membersOf(to, now, row) } })
  })
}

function membersOf(to: TransactionStatus, now: Date, row: Pick<Changeable, 'end_to_end'>): Partial<Changeable> {
  switch (to) {
    case 'PAID':
      return row.end_to_end
        ? { error_message: 'the refund was refused' }
        : {
            amount_paid: 2600,
            payment_date: now,
            end_to_end: `E${newUuid().replaceAll('-', '').slice(1)}`,
            payer: holder,
            receiver: { ...holder, type: 'PJ' },
            fee_amount: 7,
            error_message: null,
          }
    case 'FAILED':
      return { error_message: 'PIX QR code expired' }
    case 'BLOCKED':
      return { infraction_date: now }
    default:
      return {}
  }
}

async function get(id: string): Promise<unknown> {
  const { status, body } = await service.call(`/transaction/${id}`)
  assert(status === 200, 'the transaction is there')
  return body
}

/** The content of each event of a transaction, as it is sent. */
async function loadVersions(id: string): Promise<unknown[]> {
  const events = await service.db.query<{ snapshot: unknown }>(sql`
    select snapshot from events where record_id = ${id} order by sequence`)
  const versions = events.map(({ snapshot }) => ({ merchantId, recordId: id, snapshot }))
  const inReverse = await loadTransactionVersions(service.db, versions.toReversed())
  return JSON.parse(JSON.stringify(inReverse.reverse()))
}

import { receiverAccount } from '../../simulator/receiver-account.ts'
import { type Db, raw, sql } from '../../src/db/sql.ts'
import { type Posting, postAll } from '../../src/ledger/post.ts'
import { paid, released, reserved, sent } from '../../src/ledger/transfers.ts'
import { cents } from '../../src/lib/money.ts'
import { newUuid } from '../../src/lib/secrets.ts'
import type { DiscrepancyClass } from '../../src/reconciliation/classes.ts'
import { placeInSuspense } from '../../src/suspense/place.ts'
import { type BankPayment, type BankPayout, type GeneratedBank, generatedBank } from './generated-bank.ts'
import { createRandom } from './random.ts'

/** The fee agreed with the generated bank. */
export const agreedFees = {
  payment: { fixed: cents(1), basisPoints: 100, minimum: cents(2), maximum: null },
  payout: null,
}

const minuteMs = 60_000
const hourMs = 60 * minuteMs

/** A Friday in Brasília. */
export const generatedDay = {
  day: '2026-11-20',
  from: new Date('2026-11-20T03:00:00.000Z'),
  to: new Date('2026-11-21T03:00:00.000Z'),
}

type Row = Record<string, unknown>

export type GeneratedDay = {
  bank: GeneratedBank
  /** The injected discrepancies: `class reference`. */
  expected: Set<string>
}

/**
 * A day in the ledger and at a bank, derived from a seed: `agreeing` payments that agree; a fiftieth as many refunds,
 * payouts, payments in suspense and payments just outside of the day, which agree too; and `each` discrepancies of each
 * class but `unreadable`. Rows are written in their final state, and their transfers are posted to the ledger.
 */
export async function generateDay(
  db: Db,
  { seed, agreeing, each, acquirer = 'bank' }: { seed: number; agreeing: number; each: number; acquirer?: string },
): Promise<GeneratedDay> {
  const random = createRandom(seed)
  const bank = generatedBank()
  const expected = new Set<string>()
  const rows: Record<'transactions' | 'refunds' | 'withdrawals', Row[]> = {
    transactions: [],
    refunds: [],
    withdrawals: [],
  }
  const postings: Posting[] = []
  const suspended: BankPayment[] = []
  const merchants = [0, 1, 2].map(() => uuid())
  let serial = 0

  /** A time from `after` minutes after the beginning of the day to `before` minutes before its end. */
  const within = (after: number, before: number) => {
    const start = generatedDay.from.getTime() + after * minuteMs
    return new Date(start + random.below(generatedDay.to.getTime() - before * minuteMs - start))
  }
  const inDay = () => within(30, 60)
  const soonAfter = (at: Date) => new Date(at.getTime() + random.below(20_000))

  function uuid(): string {
    const bytes = Buffer.alloc(16)
    for (let at = 0; at < 16; at += 4) bytes.writeUInt32BE(random.below(2 ** 32), at)
    return newUuid(bytes)
  }

  function endToEndId(at: Date): string {
    serial += 1
    const minute = at.toISOString().replace(/[-T:]/g, '').slice(0, 12)
    // Not in the order of time within a minute: the comparison sorts by id, and must not depend on the time.
    return `E12345678${minute}${random
      .below(36 ** 4)
      .toString(36)
      .padStart(4, '0')}${serial.toString(36).padStart(7, '0')}`
  }

  const feeOf = (amount: number) => Math.max(2, 1 + Math.floor((amount * 100 + 5_000) / 10_000))

  function atBank(at: Date, more: Partial<BankPayment> = {}): BankPayment {
    const amount = more.amount ?? 100 + random.below(1_000_000)
    const payment: BankPayment = {
      endToEndId: endToEndId(at),
      txid: null,
      amount,
      at,
      fee: random.percent(50) ? feeOf(amount) : null,
      returns: [],
      ...more,
    }
    bank.payments.set(payment.endToEndId, payment)
    return payment
  }

  type Transaction = { id: string; merchantId: string; txid: string }

  function transaction(more: Row = {}, id = uuid()): Transaction {
    const merchantId = random.pick(merchants) ?? ''
    const createdAt = new Date('2026-10-01T00:00:00.000Z')
    rows.transactions.push({
      id,
      merchant_id: merchantId,
      acquirer,
      amount: 1000,
      is_info_product: false,
      pix_expiration_seconds: 900,
      pix_uri: 'code',
      pix_expires_at: createdAt,
      created_at: createdAt,
      statuses: ['PENDING', 'PIX_QRCODE_GENERATED'],
      status_dates: [createdAt, createdAt],
      ...more,
    })
    return { id, merchantId, txid: id.replaceAll('-', '') }
  }

  /** A payment of our transaction, as the ledger has it. */
  function addPosted(payment: BankPayment, postedAt: Date, laterStatuses: string[] = []): Transaction {
    const { endToEndId: end_to_end, amount, at } = payment
    const createdAt = new Date('2026-10-01T00:00:00.000Z')
    const statuses = ['PENDING', 'PIX_QRCODE_GENERATED', 'PAID', ...laterStatuses]
    const made = transaction({
      statuses,
      status_dates: statuses.map((_, place) => (place < 2 ? createdAt : postedAt)),
      amount_paid: amount,
      payment_date: at,
      end_to_end,
      fee_amount: 0,
    })
    payment.txid = made.txid
    const { id, merchantId } = made
    const eventKey = `transaction:${id}:paid`
    post({
      merchantId,
      eventKey,
      recordType: 'transaction',
      recordId: id,
      acquirer,
      now: postedAt,
      transfers: paid(amount, 0),
    })
    return made
  }

  function post(posting: Posting): void {
    postings.push(posting)
  }

  function refunded(
    at: Date,
    state: 'REFUNDED' | 'PROCESSING',
    paidAt = inDay(),
  ): { payment: BankPayment; id: string; amount: number } {
    const payment = atBank(paidAt, { amount: 10_000 + random.below(100_000) })
    const { id: transaction_id, merchantId: merchant_id } = addPosted(
      payment,
      soonAfter(paidAt),
      state === 'REFUNDED' ? ['PROCESSING_REFUND', 'PAID'] : ['PROCESSING_REFUND'],
    )
    const [id, amount] = [uuid(), 100 + random.below(5_000)]
    const finished_at = state === 'REFUNDED' ? at : null
    rows.refunds.push({
      merchant_id,
      id,
      transaction_id,
      amount,
      fee_amount: 0,
      status: state,
      created_at: at,
      finished_at,
      requested_at: at,
    })
    const posting = { merchantId: merchant_id, recordType: 'refund', recordId: id, acquirer, now: at } as const
    post({ ...posting, eventKey: `refund:${id}:reserved`, transfers: reserved('refund_reserved', amount, 0) })
    if (state === 'REFUNDED')
      post({ ...posting, eventKey: `refund:${id}:sent`, transfers: sent('refund_sent', amount, 0) })
    return { payment, id: id.replaceAll('-', ''), amount }
  }

  function withdrawn(at: Date, state: 'PROCESSING' | 'PROCESSED' | 'FAILED'): { payoutId: string; amount: number } {
    const [id, merchant_id, amount] = [uuid(), random.pick(merchants) ?? '', 100 + random.below(10_000)]
    const statuses = state === 'PROCESSING' ? ['PENDING', 'PROCESSING'] : ['PENDING', 'PROCESSING', state]
    rows.withdrawals.push({
      id,
      merchant_id,
      acquirer,
      amount,
      pix_key: 'maria@example.com',
      pix_key_type: 'EMAIL',
      created_at: at,
      statuses,
      status_dates: statuses.map(() => at),
      fee_amount: 0,
      ...(state === 'PROCESSED' && { amount_withdrawn: amount, processed_date: at, end_to_end: endToEndId(at) }),
    })
    const posting = { merchantId: merchant_id, recordType: 'withdrawal', recordId: id, acquirer, now: at } as const
    post({ ...posting, eventKey: `withdrawal:${id}:reserved`, transfers: reserved('withdrawal_reserved', amount, 0) })
    if (state === 'PROCESSED')
      post({ ...posting, eventKey: `withdrawal:${id}:sent`, transfers: sent('withdrawal_sent', amount, 0) })
    if (state === 'FAILED')
      post({ ...posting, eventKey: `withdrawal:${id}:released`, transfers: released('withdrawal_released', amount, 0) })
    return { payoutId: id.replaceAll('-', ''), amount }
  }

  function paidOut(at: Date, more: Partial<BankPayout> & { amount: number }): BankPayout {
    const payout: BankPayout = { endToEndId: endToEndId(at), payoutId: null, at, status: 'REALIZADO', ...more }
    bank.payouts.set(payout.endToEndId, payout)
    return payout
  }

  const differs = (name: DiscrepancyClass, reference: string) => expected.add(`${name} ${reference}`)
  /** Calls `make` with 0, 1 … `count` - 1. */
  const times = (count: number, make: (index: number) => void) => {
    for (let index = 0; index < count; index += 1) make(index)
  }

  // Money for payouts, long before the day.
  const longBefore = new Date('2026-10-15T15:00:00.000Z')
  times(30, () => addPosted(atBank(longBefore, { amount: 10_000_000 }), longBefore))

  const agreed: Transaction[] = []
  times(agreeing, () => {
    const at = within(0, 1)
    const postedAt = soonAfter(at)
    agreed.push(addPosted(atBank(at), postedAt))
  })
  const some = Math.ceil(agreeing / 50)
  times(some, () => {
    const at = inDay()
    const { payment, id, amount } = refunded(at, 'REFUNDED', new Date(at.getTime() - random.below(60) * 24 * hourMs))
    payment.returns.push({ id, amount, at, nature: 'ORIGINAL' })
  })
  times(some, () => {
    const at = inDay()
    const { payoutId, amount } = withdrawn(at, 'PROCESSED')
    paidOut(at, { payoutId, amount })
  })
  times(some, () => suspended.push(atBank(inDay())))
  // Payments up to nine minutes before the day or after it, at the bank and in the ledger.
  times(some, (index) => {
    const awayMs = (1 + random.below(9)) * minuteMs
    const edge = index % 2 === 0 ? generatedDay.from.getTime() - awayMs : generatedDay.to.getTime() + awayMs
    addPosted(atBank(new Date(edge)), new Date(edge + 1_000))
  })

  times(each, () => {
    const payment = atBank(within(60, 60))
    addPosted(payment, new Date(generatedDay.to.getTime() + hourMs + random.below(hourMs)))
    differs('late', payment.endToEndId)
  })
  const unposted: { txid: string; at: Date }[] = []
  times(each, () => {
    const at = inDay()
    const { txid } = transaction()
    unposted.push({ txid, at })
    differs('missing_in_ledger', atBank(at, { txid }).endToEndId)
  })
  times(each, () => {
    const at = inDay()
    const payment = atBank(at)
    addPosted(payment, soonAfter(at))
    bank.payments.delete(payment.endToEndId)
    differs('missing_at_acquirer', payment.endToEndId)
  })
  times(each, () => {
    const at = inDay()
    const payment = atBank(at, { fee: null, amount: 10_000 + random.below(100_000) })
    addPosted(payment, soonAfter(at))
    payment.amount += (1 + random.below(5_000)) * (random.percent(50) ? 1 : -1)
    differs('amount', payment.endToEndId)
  })
  times(each, () => {
    const at = inDay()
    const amount = 10_000 + random.below(100_000)
    const fee = feeOf(amount) + (1 + random.below(50)) * (random.percent(50) ? 1 : -1)
    const payment = atBank(at, { amount, fee })
    addPosted(payment, soonAfter(at))
    differs('fee', payment.endToEndId)
  })
  times(each, (index) => {
    // Every tenth is the second payment of a charge whose first one is missing in the ledger.
    const first = index % 10 === 0 ? unposted[index / 10] : undefined
    const at = first ? new Date(first.at.getTime() + 1_000) : inDay()
    const txid = first?.txid ?? random.pick(agreed)?.txid ?? null
    differs('duplicate', atBank(at, { txid }).endToEndId)
  })
  times(each, (index) => {
    const txid =
      [null, null, uuid().replaceAll('-', ''), `somebodyElses${random.below(1e9)}Charge00000`][index % 4] ?? null
    differs('unattributed', atBank(inDay(), { txid }).endToEndId)
  })
  times(each, () => {
    const at = new Date(generatedDay.to.getTime() - 1 - random.below(9 * minuteMs))
    const payment = atBank(at)
    addPosted(payment, new Date(generatedDay.to.getTime() + random.below(9 * minuteMs)))
    differs('cut_off', payment.endToEndId)
  })
  times(each, (index) => {
    const at = inDay()
    const isOld = random.percent(50)
    const paidAt = isOld ? new Date(at.getTime() - (1 + random.below(80)) * 24 * hourMs) : inDay()
    const kind = index % 5
    if (kind === 0) {
      const payment = atBank(paidAt, { amount: 100_000 })
      addPosted(payment, soonAfter(paidAt))
      payment.returns.push({ id: `byHand${index}`, amount: 1 + random.below(100_000), at, nature: 'ORIGINAL' })
      return differs('return', payment.endToEndId)
    }
    if (kind === 1) {
      const payment = atBank(paidAt, { amount: 100_000 })
      addPosted(payment, soonAfter(paidAt))
      payment.returns.push({ id: `med${index}`, amount: 100_000, at, nature: 'MED_FRAUDE' })
      return differs('return', payment.endToEndId)
    }
    const { payment, id, amount } = refunded(at, kind === 4 ? 'PROCESSING' : 'REFUNDED', paidAt)
    // Kind 2 is only in the ledger. Kind 3 has another amount at the bank. Kind 4 is not yet final in the ledger.
    if (kind === 3) payment.returns.push({ id, amount: amount + 1 + random.below(100), at, nature: 'ORIGINAL' })
    if (kind === 4) payment.returns.push({ id, amount, at, nature: 'ORIGINAL' })
    return differs('return', payment.endToEndId)
  })
  times(each, (index) => {
    const at = inDay()
    const kind = index % 5
    if (kind === 0) return differs('payout', paidOut(at, { amount: 1 + random.below(5_000) }).endToEndId)
    const state = kind === 3 ? 'PROCESSING' : kind === 4 ? 'FAILED' : 'PROCESSED'
    const { payoutId, amount } = withdrawn(at, state)
    // Kind 1 is only in the ledger. Kind 2 has another amount at the bank. Kinds 3 and 4 are paid there only.
    if (kind === 2) paidOut(at, { payoutId, amount: amount + 1 + random.below(100) })
    if (kind > 2) paidOut(at, { payoutId, amount })
    return differs('payout', payoutId)
  })

  await db.transaction(async (tx) => {
    const since = new Date('2026-10-01T00:00:00.000Z')
    await tx.query(sql`
      insert into acquirer_cursors (acquirer, listed_until, first_listed_at) values (${acquirer}, ${since}, ${since})`)
    for (const [table, all] of Object.entries(rows)) {
      for (let start = 0; start < all.length; start += 5_000)
        await tx.query(insertAll(table, all.slice(start, start + 5_000)))
    }
    const inOrder = postings.toSorted((a, b) => a.now.getTime() - b.now.getTime())
    for (let start = 0; start < inOrder.length; start += 5_000) await postAll(tx, inOrder.slice(start, start + 5_000))
    await placeInSuspense(
      tx,
      suspended.map((payment) => ({
        acquirer: { name: acquirer, receiver: receiverAccount },
        kind: 'unattributed' as const,
        merchantId: null,
        transactionId: null,
        payment: { ...payment, amount: cents(payment.amount), fee: null, paidAt: payment.at, payer: null, returns: [] },
      })),
      new Date(generatedDay.to.getTime() + hourMs),
    )
  })
  return { bank, expected }
}

function insertAll(table: string, rows: Row[]) {
  const names = raw(Object.keys(Object.assign({}, ...rows)).join(', '))
  return sql`
    insert into ${raw(table)} (${names})
    select ${names} from json_populate_recordset(null::${raw(table)}, ${JSON.stringify(rows)}::json)`
}

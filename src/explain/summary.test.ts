import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { DeliveryRow } from '../webhooks/read-store.ts'
import { toEnglish } from './english.ts'
import type { Facts } from './facts.ts'
import type { Sentence } from './sentences.ts'
import type { InfractionRecord, RefundRecord, SurplusRecord, TransactionRecord, WithdrawalRecord } from './store.ts'
import { describeTransaction } from './transaction.ts'
import { describeWithdrawal } from './withdrawal.ts'

/** Hours and minutes of the day on which all of this happens. */
const at = (time: string) => new Date(`2026-03-02T${time}.000Z`)
const now = at('12:00:00')
const id = randomUUID()
const told = 'The shop gave no webhook URL, so it is told nothing.'

const common = {
  id,
  merchant_id: randomUUID(),
  client_id: 'gc_1',
  client_name: 'Shop',
  acquirer: 'a PSP',
  other_acquirers: [],
  amount: 2590,
  fee_amount: null,
  external_code: null,
  webhook_url: null,
  created_at: at('11:00:00'),
  status_dates: [],
  statuses: [],
  error_message: null,
  end_to_end: null,
  check_at: null,
}

const nothing = {
  refunds: [],
  infractions: [],
  surplus: [],
  transfers: [],
  notices: [],
  exchanges: [],
  deliveries: [],
  actions: [],
  merchantActors: [],
  brake: null,
  isConfigured: true,
  now,
}
type More = Partial<Omit<Facts, 'record'>>

function summarize(status: string, sentences: Sentence[]): string {
  return `${status}: ${toEnglish(sentences, now)}`
}

function ofTransaction(record: Partial<TransactionRecord>, more: More = {}): string {
  const unpaid = { amount_paid: null, payment_date: null, pix_expires_at: null }
  const whole = { type: 'transaction', status: 'PENDING', ...common, ...unpaid, ...record } as const
  return summarize(whole.status, describeTransaction({ ...nothing, ...more, record: whole }))
}

function ofWithdrawal(record: Partial<WithdrawalRecord>, more: More = {}): string {
  const fresh = { pix_key_type: 'EMAIL', hold: null, hold_at_birth: null, processed_date: null }
  const whole = { type: 'withdrawal', status: 'PENDING', ...common, ...fresh, ...record } as const
  return summarize(whole.status, describeWithdrawal({ ...nothing, ...more, record: whole }))
}

const paid = { status: 'PAID', amount_paid: 2590, payment_date: at('11:30:00'), end_to_end: 'E1' } as const
const brake = { id: randomUUID(), reason: 'trial_balance', engaged_at: at('11:50:00') }

function exchange(error: string) {
  const outcome = 'unknown' as const
  return {
    at: at('11:59:30'),
    acquirer: 'a PSP',
    operation: 'createCharge',
    record_id: id,
    outcome,
    error,
    duration_ms: 9,
  }
}

function refund(more: Partial<RefundRecord> = {}): RefundRecord {
  const open = { error_message: null, finished_at: null, check_at: at('12:00:05'), suspense_payment_id: null }
  return { id: randomUUID(), amount: 1000, status: 'PROCESSING', created_at: at('11:55:00'), ...open, ...more }
}

function contest(more: Partial<InfractionRecord> = {}): InfractionRecord {
  const open = { state: 'open' as const, returned_amount: 0, decided_at: null, finished_at: null }
  return { id: randomUUID(), amount: 2590, opened_at: at('11:40:00'), ...open, ...more }
}

describe('a transaction that is', () => {
  it('PENDING: says that nothing is known, of what, and when it is asked again', () => {
    const summary = ofTransaction({ check_at: at('12:00:05') }, { exchanges: [exchange('AcquirerUnavailable 503')] })
    expect(summary).toBe(
      `PENDING: the acquirer did not answer (AcquirerUnavailable 503, at 11:59:30), so it is not known whether the charge exists. It is asked again at 12:00:05. ${told}`,
    )
  })

  it('PENDING for too long: doubts that the service runs', () => {
    expect(ofTransaction({ check_at: at('11:58:59') })).toBe(
      `PENDING: the acquirer did not answer, so it is not known whether the charge exists. It was to be asked again at 11:58:59 and has not been: does the service run? ${told}`,
    )
  })

  it.each([
    [[], ''],
    [[['received', 'E1']], ' A callback told of a payment, and the acquirer is being asked to confirm it.'],
    [[['unconfirmed', 'E1']], ' A callback told of a payment, but the acquirer does not confirm it.'],
  ] as const)('PIX_QRCODE_GENERATED: tells until when it can be paid, and of callbacks %j', (given, claimed) => {
    const one = { acquirer: 'a PSP', received_at: now, finished_at: null }
    const notices = given.map(([state, end_to_end]) => ({ ...one, state, end_to_end }))
    const record = { status: 'PIX_QRCODE_GENERATED', pix_expires_at: at('13:00:00'), check_at: at('13:05:00') } as const
    expect(ofTransaction(record, { notices })).toBe(
      `PIX_QRCODE_GENERATED: nobody has paid yet; the code is good until 13:00:00.${claimed} Without a payment it fails soon after 13:05:00, when the acquirer has been asked a last time. ${told}`,
    )
  })

  it('PIX_QRCODE_GENERATED and expired: tells that it is asked about a last time', () => {
    const record = { status: 'PIX_QRCODE_GENERATED', pix_expires_at: at('11:58:00'), check_at: at('12:03:00') } as const
    expect(ofTransaction(record)).toBe(
      `PIX_QRCODE_GENERATED: the code expired at 11:58:00 and no payment is known. The acquirer is asked a last time at 12:03:00. ${told}`,
    )
  })

  it('FAILED: tells why', () => {
    expect(ofTransaction({ status: 'FAILED', error_message: 'PIX QR code expired' })).toBe(
      `FAILED: PIX QR code expired. Should a payment arrive after all, it is booked. ${told}`,
    )
  })

  it('PAID: tells what arrived, the fee, what went back, and what came to nothing', () => {
    expect(ofTransaction({ ...paid, fee_amount: 26 })).toBe(
      `PAID: R$ 25,90 arrived at 11:30:00, of which R$ 0,26 are the fee. ${told}`,
    )
    const refunds = [
      refund({ status: 'REFUNDED' }),
      refund({ status: 'FAILED', amount: 500, error_message: 'Saldo insuficiente' }),
    ]
    expect(ofTransaction(paid, { refunds, infractions: [contest({ state: 'rejected' })] })).toBe(
      `PAID: R$ 25,90 arrived at 11:30:00. R$ 10,00 of it went back to the payer. The last refund, of R$ 5,00, was refused: Saldo insuficiente. A dispute of it was rejected or canceled. ${told}`,
    )
  })

  it('PAID twice: tells what became of the second payment', () => {
    const one = { acquirer: 'another PSP', end_to_end: 'E2', amount: 500, error_message: null }
    const of = (more: Pick<SurplusRecord, 'status'> & Partial<SurplusRecord>) =>
      ofTransaction(paid, { surplus: [{ ...one, ...more }] })
    const what = 'It was paid once more, with R$ 5,00 at another PSP (E2): that'
    expect(of({ status: 'returning' })).toContain(`${what} is being sent back.`)
    expect(of({ status: 'returned' })).toContain(`${what} went back to the payer.`)
    expect(of({ status: 'held', error_message: 'Conta encerrada' })).toContain(
      `${what} is in suspense, because it was not sent back (Conta encerrada); see \`npx guiche orphan\`.`,
    )
  })

  it('PROCESSING_REFUND: tells when it is asked about, or what keeps money from leaving', () => {
    const record = { ...paid, status: 'PROCESSING_REFUND' } as const
    const standing =
      'PROCESSING_REFUND: a refund of R$ 10,00 was asked for at 11:55:00, and what became of it is not known yet. What it needs is set aside.'
    expect(ofTransaction(record, { refunds: [refund()] })).toBe(
      `${standing} The acquirer is asked about it at 12:00:05. ${told}`,
    )
    expect(ofTransaction(record, { refunds: [refund()], brake })).toBe(
      `${standing} No money leaves since 11:50:00 (trial_balance): it goes on after \`npx guiche ledger release\`. ${told}`,
    )
  })

  it('REFUNDED because a match was undone: says that its money is in suspense, not with the payer', () => {
    const refunds = [refund({ status: 'REFUNDED', amount: 2590, suspense_payment_id: id })]
    expect(ofTransaction({ ...paid, status: 'REFUNDED' }, { refunds })).toBe(
      `REFUNDED: the payment was not for this transaction: its R$ 25,90 went back into suspense; see \`npx guiche orphan show ${id}\`. ${told}`,
    )
  })

  it('REFUNDED, BLOCKED, PROCESSING_INFRACTION and INFRACTION: tells where the money is', () => {
    const of = (status: TransactionRecord['status'], ...disputes: Partial<InfractionRecord>[]) =>
      ofTransaction({ ...paid, status }, { infractions: disputes.map(contest) }).replace(` ${told}`, '')
    expect(of('REFUNDED')).toBe('REFUNDED: all of the R$ 25,90 went back to the payer.')
    expect(of('BLOCKED', {})).toBe(
      `BLOCKED: the payer's bank disputes R$ 25,90, since 11:40:00; it is blocked until the dispute is decided. If the acquirer does not report the decision: \`npx guiche infraction accept | reject --transaction ${id}\`.`,
    )
    const returned = { state: 'returned', amount: 1000, returned_amount: 1000 } as const
    expect(of('BLOCKED', returned, { amount: 500 }, { amount: 300 })).toContain(
      "the payer's bank disputes R$ 8,00, since",
    )
    expect(of('PROCESSING_INFRACTION', { state: 'accepted' }, { state: 'rejected', amount: 100 })).toBe(
      'PROCESSING_INFRACTION: the dispute of R$ 25,90 was accepted; it stays blocked until the acquirer reports that the money went back.',
    )
    expect(of('INFRACTION', { state: 'returned', returned_amount: 2590 })).toBe(
      'INFRACTION: R$ 25,90 went back to the payer after a dispute.',
    )
    expect(of('INFRACTION', returned)).toBe(
      'INFRACTION: R$ 10,00 went back to the payer after a dispute. The remaining R$ 15,90 can still be refunded or disputed.',
    )
  })
})

describe('what the shop knows', () => {
  const webhook_url = 'https://shop.example.com/hooks'
  const arrived = 'PAID: R$ 25,90 arrived at 11:30:00.'

  function delivery(more: Partial<DeliveryRow>, attempts = 0): DeliveryRow {
    return {
      id: 'the-event',
      type: 'transaction.paid',
      record_id: id,
      sequence: 2,
      url: webhook_url,
      state: 'pending',
      next_attempt_at: null,
      last_status: null,
      last_error: null,
      created_at: now,
      finished_at: null,
      attempts: Array.from({ length: attempts }, (_, index) => ({
        number: index + 1,
        started_at: now,
        duration_ms: 5,
        status: 500,
        error: null,
      })),
      ...more,
    }
  }

  it.each([
    [[], 'There is nothing yet to tell the shop of.'],
    [[delivery({ state: 'delivered', finished_at: at('11:30:01') })], 'The shop was told at 11:30:01.'],
    [[delivery({ next_attempt_at: now })], 'The shop has not been told yet. It is told at 12:00:00.'],
    [
      [delivery({ last_status: 500, next_attempt_at: at('12:02:00') }, 3)],
      'The shop has not been told yet: the receiver answered 500 at attempt 3. It is tried again at 12:02:00.',
    ],
    [
      [
        delivery(
          { type: 'transaction.pix_qrcode_generated', last_error: 'The connection was refused', next_attempt_at: now },
          2,
        ),
        delivery({ id: 'another', state: 'waiting' }),
      ],
      'The shop has not been told yet of transaction.paid, which waits behind transaction.pix_qrcode_generated: the connection was refused at attempt 2. It is tried again at 12:00:00.',
    ],
    [
      [delivery({ last_status: 500, next_attempt_at: at('11:00:00') }, 1)],
      'The shop has not been told yet: the receiver answered 500 at attempt 1. It was to be tried again at 11:00:00 and has not been: does the service run?',
    ],
    [
      [delivery({ state: 'exhausted', last_status: 404 }, 12)],
      'The shop has not been told of transaction.paid: all attempts failed, and at the last the receiver answered 404. POST /webhook/delivery/the-event/resend tells it again.',
    ],
    [
      [delivery({ state: 'gone', last_status: 410 }, 1)],
      'The shop has not been told of transaction.paid: its receiver answered 410, which means that it wants no more. POST /webhook/delivery/the-event/resend tells it again.',
    ],
  ])('is told: case %#', (deliveries, sentence) => {
    expect(ofTransaction({ ...paid, webhook_url }, { deliveries })).toBe(`${arrived} ${sentence}`)
  })
})

describe('a withdrawal that is', () => {
  const decide = `\`npx guiche withdrawal approve ${id}\` sends it, \`npx guiche withdrawal reject ${id} --reason …\` gives the money back.`

  it('PENDING and held: tells for what, and how to let it go', () => {
    expect(ofWithdrawal({ hold: 'approval' })).toBe(
      `PENDING: R$ 25,90 is above what leaves without the operator's approval. ${decide} ${told}`,
    )
    expect(ofWithdrawal({ hold: 'duplicate' })).toBe(
      `PENDING: it looks like another one, of the same amount to the same key shortly before, and is held until the shop confirms it (POST /withdrawal/${id}/confirm) or the operator decides. ${decide} ${told}`,
    )
  })

  it('PENDING: tells when it is sent, or what keeps money from leaving', () => {
    const standing = 'PENDING: R$ 25,90 with its fee is set aside and nothing has been sent yet.'
    expect(ofWithdrawal({ check_at: at('12:00:15') })).toBe(`${standing} It is sent at 12:00:15. ${told}`)
    expect(ofWithdrawal({ check_at: at('12:00:15') }, { brake })).toBe(
      `${standing} No money leaves since 11:50:00 (trial_balance): it goes on after \`npx guiche ledger release\`. ${told}`,
    )
  })

  it('PROCESSING: tells that its outcome is open, and when it is asked for', () => {
    const record = { status: 'PROCESSING', check_at: at('12:00:30') } as const
    expect(ofWithdrawal(record, { exchanges: [exchange('AcquirerUnavailable')] })).toBe(
      `PROCESSING: the acquirer was asked to send R$ 25,90, and what became of it is not known yet (last: AcquirerUnavailable, at 11:59:30); it stays set aside until it is. The acquirer is asked again at 12:00:30. ${told}`,
    )
  })

  it.each([
    [
      { status: 'PROCESSED', processed_date: at('11:10:00'), check_at: new Date('2026-03-03T09:00:00.000Z') },
      'R$ 25,90 left at 11:10:00. The acquirer is asked whether the receiver has sent it back at 2026-03-03 09:00:00.',
    ],
    [
      { status: 'FAILED', error_message: 'The account is closed' },
      'nothing left, and R$ 25,90 with its fee is given back: The account is closed.',
    ],
    [{ status: 'CANCELED' }, 'the shop canceled it before anything left, and R$ 25,90 with its fee is given back.'],
    [
      { status: 'REJECTED', error_message: 'Not this one!' },
      'it was rejected before anything left, and R$ 25,90 with its fee is given back: Not this one!',
    ],
    [
      { status: 'REFUNDED', error_message: 'The receiver sent the money back' },
      'The receiver sent the money back. The fee stays.',
    ],
  ] as [Partial<WithdrawalRecord>, string][])('over or nearly so: %j', (record, standing) => {
    expect(ofWithdrawal(record)).toBe(`${record.status}: ${standing} ${told}`)
  })
})

it('says that an acquirer which the settings no longer have cannot be asked, in place of when it is', () => {
  const refund = {
    id,
    amount: 1000,
    status: 'PROCESSING',
    created_at: at('11:55:00'),
    check_at: at('12:01:00'),
  } as const
  const refunds = [{ ...refund, error_message: null, finished_at: null, suspense_payment_id: null }]
  const notAsked = /Its acquirer a PSP is not configured here, so nobody can ask it: configure it again/
  const check = { check_at: at('12:00:30') }
  const said = [
    ofTransaction(check, { isConfigured: false }),
    ofTransaction({ ...check, status: 'PIX_QRCODE_GENERATED' }, { isConfigured: false }),
    ofTransaction({ status: 'PROCESSING_REFUND', amount_paid: 2590 }, { isConfigured: false, refunds }),
    ofWithdrawal({ ...check, status: 'PROCESSING' }, { isConfigured: false }),
  ]
  for (const summary of said) {
    expect(summary).toMatch(notAsked)
    expect(summary).not.toMatch(/is asked|was to be asked/)
  }
})

import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { DeliveryRow } from '../webhooks/read-store.ts'
import { toEnglish } from './english.ts'
import type { Facts } from './facts.ts'
import type { Sentence } from './sentences.ts'
import type { DisputeRecord, DuplicateRecord, RefundRecord, TransactionRecord, WithdrawalRecord } from './store.ts'
import { toTimeline } from './timeline.ts'
import { describeTransaction } from './transaction.ts'
import { describeWithdrawal } from './withdrawal.ts'

/** A time (UTC) on the day of all these tests. */
const at = (time: string) => new Date(`2026-03-02T${time}.000Z`)
const now = at('12:00:00')
const id = randomUUID()
const noWebhook = 'No webhook: it was created without a webhookUrl.'

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
  disputes: [],
  duplicates: [],
  transfers: [],
  link: null,
  notices: [],
  exchanges: [],
  deliveries: [],
  actions: [],
  merchantActors: [],
  payoutFreeze: null,
  isConfigured: true,
  now,
}
type More = Partial<Omit<Facts, 'record'>>

function summarize(status: string, sentences: Sentence[]): string {
  return `${status}: ${toEnglish(sentences, now)}`
}

function ofTransaction(record: Partial<TransactionRecord>, more: More = {}): string {
  const unpaid = { amount_paid: null, amount_returned: 0, payment_date: null, pix_expires_at: null }
  const whole = { type: 'transaction', status: 'PENDING', ...common, ...unpaid, ...record } as const
  return summarize(whole.status, describeTransaction({ ...nothing, ...more, record: whole }))
}

function ofWithdrawal(record: Partial<WithdrawalRecord>, more: More = {}): string {
  const reviewed = { review_reason: null, initial_review_reason: null, commits_lost_at: null }
  const fresh = { pix_key_type: 'EMAIL', ...reviewed, processed_date: null }
  const whole = { type: 'withdrawal', status: 'PENDING', ...common, ...fresh, ...record } as const
  return summarize(whole.status, describeWithdrawal({ ...nothing, ...more, record: whole }))
}

const paid = { status: 'PAID', amount_paid: 2590, payment_date: at('11:30:00'), end_to_end: 'E1' } as const
const payoutFreeze = { id: randomUUID(), reason: 'trial_balance', engaged_at: at('11:50:00') }

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

function dispute(more: Partial<DisputeRecord> = {}): DisputeRecord {
  const open = { state: 'open' as const, returned_amount: 0, decided_at: null, finished_at: null }
  return { id: randomUUID(), amount: 2590, opened_at: at('11:40:00'), ...open, ...more }
}

describe('a transaction that is', () => {
  it('PENDING: says what is unknown and when the acquirer is asked again', () => {
    const summary = ofTransaction({ check_at: at('12:00:05') }, { exchanges: [exchange('AcquirerUnavailable 503')] })
    expect(summary).toBe(
      `PENDING: the acquirer did not answer (AcquirerUnavailable 503, at 11:59:30), so it is unknown whether the charge exists. The acquirer is asked again at 12:00:05. ${noWebhook}`,
    )
  })

  it('PENDING for too long: says that the service may not be running', () => {
    expect(ofTransaction({ check_at: at('11:58:59') })).toBe(
      `PENDING: the acquirer did not answer, so it is unknown whether the charge exists. The acquirer was due to be asked again at 11:58:59 but has not been. Check that the service is running. ${noWebhook}`,
    )
  })

  it.each([
    [[], ''],
    [[['received', 'E1']], ' A callback reported a payment, and Guichê is checking it with the acquirer.'],
    [[['unconfirmed', 'E1']], ' A callback reported a payment, but the acquirer does not confirm it.'],
  ] as const)('PIX_QRCODE_GENERATED: says until when it can be paid, and reports callbacks %j', (given, claimed) => {
    const one = { acquirer: 'a PSP', received_at: now, finished_at: null }
    const notices = given.map(([state, end_to_end]) => ({ ...one, state, end_to_end }))
    const record = { status: 'PIX_QRCODE_GENERATED', pix_expires_at: at('13:00:00'), check_at: at('13:05:00') } as const
    expect(ofTransaction(record, { notices })).toBe(
      `PIX_QRCODE_GENERATED: not paid yet; the QR code is valid until 13:00:00.${claimed} Without a payment it fails soon after 13:05:00, after a last check with the acquirer. ${noWebhook}`,
    )
  })

  it('PIX_QRCODE_GENERATED and expired: says when the last check is', () => {
    const record = { status: 'PIX_QRCODE_GENERATED', pix_expires_at: at('11:58:00'), check_at: at('12:03:00') } as const
    expect(ofTransaction(record)).toBe(
      `PIX_QRCODE_GENERATED: the QR code expired at 11:58:00 and no payment is known. The acquirer is asked for the last time at 12:03:00. ${noWebhook}`,
    )
  })

  it('FAILED: says why', () => {
    expect(ofTransaction({ status: 'FAILED', error_message: 'PIX QR code expired' })).toBe(
      `FAILED: PIX QR code expired. A payment that still arrives is credited. ${noWebhook}`,
    )
  })

  it('PAID: says what arrived, the fee, the refunds and the failed ones', () => {
    expect(ofTransaction({ ...paid, fee_amount: 26 })).toBe(
      `PAID: R$ 25,90 arrived at 11:30:00; the fee is R$ 0,26. ${noWebhook}`,
    )
    const refunds = [
      refund({ status: 'REFUNDED' }),
      refund({ status: 'FAILED', amount: 500, error_message: 'Saldo insuficiente' }),
    ]
    expect(ofTransaction(paid, { refunds, disputes: [dispute({ state: 'rejected' })] })).toBe(
      `PAID: R$ 25,90 arrived at 11:30:00. R$ 10,00 of it was refunded. The last refund, of R$ 5,00, was refused: Saldo insuficiente. It was disputed; the dispute was rejected or canceled. ${noWebhook}`,
    )
  })

  it('PAID twice: says what happened to the duplicate payment', () => {
    const one = { acquirer: 'another PSP', end_to_end: 'E2', amount: 500, error_message: null }
    const summaryOf = (more: Pick<DuplicateRecord, 'status'> & Partial<DuplicateRecord>) =>
      ofTransaction(paid, { duplicates: [{ ...one, ...more }] })
    const what = 'It was paid again: R$ 5,00 at another PSP (E2); the duplicate'
    expect(summaryOf({ status: 'returning' })).toContain(`${what} is being returned.`)
    expect(summaryOf({ status: 'returned' })).toContain(`${what} was returned to the payer.`)
    expect(summaryOf({ status: 'held', error_message: 'Conta encerrada' })).toContain(
      `${what} is in suspense, because its return failed (Conta encerrada); see \`npx guiche suspense\`.`,
    )
  })

  it('PROCESSING_REFUND: says when it is checked, or why payouts are frozen', () => {
    const record = { ...paid, status: 'PROCESSING_REFUND' } as const
    const standing =
      'PROCESSING_REFUND: a refund of R$ 10,00 was requested at 11:55:00, and its outcome is not yet known. The amount is reserved.'
    expect(ofTransaction(record, { refunds: [refund()] })).toBe(
      `${standing} The acquirer is asked about it at 12:00:05. ${noWebhook}`,
    )
    expect(ofTransaction(record, { refunds: [refund()], payoutFreeze })).toBe(
      `${standing} Payouts and refunds are frozen since 11:50:00 (trial_balance); \`npx guiche ledger release\` ends the freeze. ${noWebhook}`,
    )
  })

  it('REFUNDED by a reversed attribution: says that its money is in suspense, not returned to the payer', () => {
    const refunds = [refund({ status: 'REFUNDED', amount: 2590, suspense_payment_id: id })]
    expect(ofTransaction({ ...paid, status: 'REFUNDED' }, { refunds })).toBe(
      `REFUNDED: the attribution was reversed: the payment was not for this transaction, and its R$ 25,90 returned to suspense; see \`npx guiche suspense show ${id}\`. ${noWebhook}`,
    )
  })

  it('REFUNDED, BLOCKED, PROCESSING_INFRACTION and INFRACTION: says where the money is', () => {
    const summaryOf = (status: TransactionRecord['status'], ...disputes: Partial<DisputeRecord>[]) => {
      // The bank has also returned 100 cents without a dispute.
      const amount_returned = disputes.reduce((sum, { returned_amount: amount = 0 }) => sum + amount, 100)
      return ofTransaction({ ...paid, status, amount_returned }, { disputes: disputes.map(dispute) }).replace(
        ` ${noWebhook}`,
        '',
      )
    }
    expect(summaryOf('REFUNDED')).toBe('REFUNDED: all of the R$ 25,90 was returned to the payer.')
    expect(summaryOf('BLOCKED', {})).toBe(
      `BLOCKED: the payer's bank disputes R$ 25,90, since 11:40:00; the amount is blocked until the dispute is decided. If the acquirer does not report the decision, enter it: \`npx guiche infraction accept | reject --transaction ${id}\`.`,
    )
    const returned = { state: 'returned', amount: 1000, returned_amount: 1000 } as const
    expect(summaryOf('BLOCKED', returned, { amount: 500 }, { amount: 300 })).toContain(
      "the payer's bank disputes R$ 8,00, since",
    )
    expect(summaryOf('PROCESSING_INFRACTION', { state: 'accepted' }, { state: 'rejected', amount: 100 })).toBe(
      'PROCESSING_INFRACTION: the dispute of R$ 25,90 was accepted; the amount stays blocked until the acquirer reports its return.',
    )
    expect(summaryOf('INFRACTION', { state: 'returned', returned_amount: 2590 })).toBe(
      'INFRACTION: R$ 25,90 was returned to the payer after a dispute.',
    )
    expect(summaryOf('INFRACTION', returned)).toBe(
      'INFRACTION: R$ 10,00 was returned to the payer after a dispute. The remaining R$ 14,90 can still be refunded or disputed.',
    )
  })
})

describe('the webhook', () => {
  const webhook_url = 'https://shop.example.com/hooks'
  const arrived = 'PAID: R$ 25,90 arrived at 11:30:00.'

  function delivery(more: Partial<DeliveryRow>, attempts = 0): DeliveryRow {
    return {
      id: 'the-delivery',
      event_id: 'the-event',
      endpoint_id: null,
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
        response: null,
      })),
      ...more,
    }
  }

  it.each([
    [[], 'No webhook event is due yet.'],
    [[delivery({ state: 'delivered', finished_at: at('11:30:01') })], 'The webhook was delivered at 11:30:01.'],
    [[delivery({ next_attempt_at: now })], 'The webhook has not been delivered yet. It is sent at 12:00:00.'],
    [
      [delivery({ last_status: 500, next_attempt_at: at('12:02:00') }, 3)],
      'The webhook has not been delivered yet: the receiver answered 500 at attempt 3. The delivery is tried again at 12:02:00.',
    ],
    [
      [
        delivery(
          { type: 'transaction.pix_qrcode_generated', last_error: 'The connection was refused', next_attempt_at: now },
          2,
        ),
        delivery({ id: 'another', state: 'waiting' }),
      ],
      'The webhook transaction.paid waits for transaction.pix_qrcode_generated, which has not been delivered yet: the connection was refused at attempt 2. The delivery is tried again at 12:00:00.',
    ],
    [
      [delivery({ last_status: 500, next_attempt_at: at('11:00:00') }, 1)],
      'The webhook has not been delivered yet: the receiver answered 500 at attempt 1. The delivery was due to be tried again at 11:00:00 but has not been. Check that the service is running.',
    ],
    [
      [delivery({ state: 'exhausted', last_status: 404 }, 12)],
      'The webhook transaction.paid was not delivered: all attempts failed; at the last one, the receiver answered 404. POST /webhook/delivery/the-event/resend sends it again.',
    ],
    [
      [delivery({ state: 'gone', last_status: 410 }, 1)],
      'The webhook transaction.paid was not delivered: the receiver answered 410, which means that it wants no more events. POST /webhook/delivery/the-event/resend sends it again.',
    ],
  ])('is explained: case %#', (deliveries, sentence) => {
    expect(ofTransaction({ ...paid, webhook_url }, { deliveries })).toBe(`${arrived} ${sentence}`)
  })

  it('has its attempts in the timeline, under the id of its event', () => {
    const record = { type: 'transaction', ...common, ...paid, amount_returned: 0, pix_expires_at: null } as const
    const timeline = toTimeline({ ...nothing, record, deliveries: [delivery({ state: 'delivered' }, 2)] })
    const attempts = timeline.flatMap(({ kind, data }) => (kind === 'delivery' ? [data] : []))
    expect(attempts).toEqual([
      expect.objectContaining({ eventId: 'the-event', attempt: 1 }),
      expect.objectContaining({ eventId: 'the-event', attempt: 2 }),
    ])
  })
})

describe('a withdrawal that is', () => {
  const decide = `\`npx guiche withdrawal approve ${id}\` sends it, \`npx guiche withdrawal reject ${id} --reason …\` returns the money to the balance.`

  it('PENDING review: says why, and how to decide', () => {
    expect(ofWithdrawal({ review_reason: 'approval', initial_review_reason: 'approval' })).toBe(
      `PENDING: R$ 25,90 is more than may be sent without the operator's approval. ${decide} ${noWebhook}`,
    )
    expect(ofWithdrawal({ review_reason: 'duplicate' })).toBe(
      `PENDING: it looks like a duplicate of a recent withdrawal of the same amount to the same key, and is pending review until the merchant confirms it (POST /withdrawal/${id}/confirm) or the operator decides. ${decide} ${noWebhook}`,
    )
  })

  it.each([null, 'duplicate', 'approval'] as const)(
    'PENDING after the database has lost commits: says that it may have been sent, first pending review for %s or not',
    (initial_review_reason) => {
      const waiting = { review_reason: 'approval', initial_review_reason, commits_lost_at: at('11:40:00') } as const
      expect(ofWithdrawal(waiting)).toContain(
        'PENDING: the database has lost its last commits or was restored, so R$ 25,90 may have been sent already: look it up at the acquirer first.',
      )
    },
  )

  it('PENDING: says when it is sent, or why payouts are frozen', () => {
    const standing = 'PENDING: R$ 25,90 and its fee are reserved, and nothing has been sent yet.'
    expect(ofWithdrawal({ check_at: at('12:00:15') })).toBe(`${standing} It is sent at 12:00:15. ${noWebhook}`)
    expect(ofWithdrawal({ check_at: at('12:00:15') }, { payoutFreeze })).toBe(
      `${standing} Payouts and refunds are frozen since 11:50:00 (trial_balance); \`npx guiche ledger release\` ends the freeze. ${noWebhook}`,
    )
  })

  it('PROCESSING: says that its outcome is unknown, and when it is checked', () => {
    const record = { status: 'PROCESSING', check_at: at('12:00:30') } as const
    expect(ofWithdrawal(record, { exchanges: [exchange('AcquirerUnavailable')] })).toBe(
      `PROCESSING: the acquirer was asked to send R$ 25,90, and the outcome is not yet known (last: AcquirerUnavailable, at 11:59:30); the money stays reserved until it is known. The acquirer is asked again at 12:00:30. ${noWebhook}`,
    )
  })

  it.each([
    [
      { status: 'PROCESSED', processed_date: at('11:10:00'), check_at: new Date('2026-03-03T09:00:00.000Z') },
      'R$ 25,90 was sent at 11:10:00. The acquirer is asked whether the receiver returned the money at 2026-03-03 09:00:00.',
    ],
    [
      { status: 'FAILED', error_message: 'The account is closed' },
      'nothing was sent, and R$ 25,90 and its fee are back in the balance: The account is closed.',
    ],
    [
      { status: 'CANCELED' },
      'the merchant canceled it before it was sent, and R$ 25,90 and its fee are back in the balance.',
    ],
    [
      { status: 'REJECTED', error_message: 'Not this one!' },
      'it was rejected before it was sent, and R$ 25,90 and its fee are back in the balance: Not this one!',
    ],
    [
      { status: 'REFUNDED', error_message: 'The receiver sent the money back' },
      'The receiver sent the money back. The fee is kept.',
    ],
  ] as [Partial<WithdrawalRecord>, string][])('in or near a final status: %j', (record, standing) => {
    expect(ofWithdrawal(record)).toBe(`${record.status}: ${standing} ${noWebhook}`)
  })
})

it('says that an acquirer that is no longer configured cannot be queried', () => {
  const refund = {
    id,
    amount: 1000,
    status: 'PROCESSING',
    created_at: at('11:55:00'),
    check_at: at('12:01:00'),
  } as const
  const refunds = [{ ...refund, error_message: null, finished_at: null, suspense_payment_id: null }]
  const notQueried = /Its acquirer a PSP is not configured, so Guichê cannot query it: configure it again/
  const check = { check_at: at('12:00:30') }
  const said = [
    ofTransaction(check, { isConfigured: false }),
    ofTransaction({ ...check, status: 'PIX_QRCODE_GENERATED' }, { isConfigured: false }),
    ofTransaction({ status: 'PROCESSING_REFUND', amount_paid: 2590 }, { isConfigured: false, refunds }),
    ofWithdrawal({ ...check, status: 'PROCESSING' }, { isConfigured: false }),
  ]
  for (const summary of said) {
    expect(summary).toMatch(notQueried)
    expect(summary).not.toMatch(/is asked|was due to be asked/)
  }
})

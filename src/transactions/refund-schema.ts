import { type Static, Type } from 'typebox'
import { DateTime, Nullable, Reference, Uuid } from '../http/schemas.ts'

export const RefundBody = Type.Object(
  {
    amount: Type.Optional(
      Type.Integer({
        minimum: 1,
        description: 'Cents; up to what is left of the payment, which is also the default',
        'x-unit': 'cents',
      }),
    ),
    reason: Type.Optional(Type.String({ minLength: 2, maxLength: 140 })),
    idempotencyKey: Reference(
      'The same key and content give the same refund, however often they are sent. May come as the header Idempotency-Key',
    ),
  },
  {
    examples: [
      { amount: 1000, reason: 'One of two items was out of stock', idempotencyKey: 'order-2026-0001-refund-1' },
    ],
  },
)

export type RefundInput = Static<typeof RefundBody>

export const RefundCreatedView = Type.Object(
  {
    id: Uuid('Identifier of the refund'),
    transactionId: Uuid('The transaction that is refunded'),
    amount: Type.Integer({ description: 'Cents' }),
    type: Type.Enum(['REFUND']),
    status: Type.Enum(['PROCESSING']),
  },
  {
    examples: [
      {
        id: '5d1c6b0a-9a57-4c0e-8d0a-0e5c3f1b2a77',
        transactionId: '0b7f3c0e-5c7b-4a5e-9a0d-3a1f4be0a2d1',
        amount: 1000,
        type: 'REFUND',
        status: 'PROCESSING',
      },
    ],
  },
)

/** A dispute (MED) as its transaction shows it. */
export const DisputeView = Type.Object({
  id: Uuid('Identifier'),
  amount: Type.Integer({ description: 'Cents that are disputed' }),
  amountReturned: Type.Integer({ description: 'Cents that went back to the payer under it' }),
  amountBlocked: Type.Integer({ description: 'Cents that are set aside for it now' }),
  status: Type.Enum(['OPEN', 'ACCEPTED', 'RETURNED', 'REJECTED', 'CANCELED']),
  reason: Nullable('string', 'As the acquirer or the operator gave it'),
  openedAt: DateTime('When it was opened'),
  deadline: Nullable('string', 'Until when the acquirer decides, where it says so', 'date-time'),
  finishedAt: Nullable('string', 'When it was over', 'date-time'),
})

/** What the payer got back other than by a refund, as its transaction shows it. */
export const ReturnView = Type.Object({
  endToEndRefund: Nullable('string', 'endToEndId of the return'),
  amount: Type.Integer({ description: 'Cents; below zero where an earlier entry was corrected' }),
  disputeId: Nullable('string', 'The dispute under which it went back; null where the bank returned it by itself'),
  date: DateTime('When it went back'),
})

/** A refund as its transaction shows it. */
export const RefundView = Type.Object({
  id: Uuid('Identifier'),
  amount: Type.Integer({ description: 'Cents' }),
  status: Type.Enum(['PROCESSING', 'REFUNDED', 'FAILED']),
  endToEndRefund: Nullable('string', 'endToEndId of the return'),
  reason: Nullable('string', 'As it was given'),
  createdAt: DateTime('When it was asked for'),
})

import { type Static, Type } from 'typebox'
import { DateTime, Nullable, Reference, Uuid } from '../../http/schemas.ts'

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
      'Requests with the same key and content return the same refund. May be sent as the header Idempotency-Key',
    ),
  },
  {
    title: 'RefundBody',
    description: 'A refund of what is left of a payment, or of a part of it',
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
    title: 'RefundCreated',
    description: 'The answer to a refund request',
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

/** A dispute (MED) as part of its transaction. */
export const DisputeView = Type.Object(
  {
    id: Uuid('Identifier'),
    amount: Type.Integer({ description: 'Disputed amount in cents' }),
    amountReturned: Type.Integer({ description: 'Cents returned to the payer under it' }),
    amountBlocked: Type.Integer({ description: 'Cents blocked for it now' }),
    status: Type.Enum(['OPEN', 'ACCEPTED', 'RETURNED', 'REJECTED', 'CANCELED'], {
      title: 'DisputeStatus',
      description: 'The status of a dispute (MED)',
    }),
    reason: Nullable('string', 'Reason given by the acquirer or the operator'),
    openedAt: DateTime('When it was opened'),
    deadline: Nullable('string', 'Deadline of the decision, if the acquirer gives one', 'date-time'),
    finishedAt: Nullable('string', 'When it ended', 'date-time'),
  },
  { title: 'Dispute', description: 'A dispute (MED) of a transaction' },
)

/** A part of the payment that the payer got back other than by a refund, as part of its transaction. */
export const ReturnView = Type.Object(
  {
    endToEndRefund: Nullable('string', 'endToEndId of the return'),
    amount: Type.Integer({ description: 'Cents; negative if it corrects an earlier entry' }),
    disputeId: Nullable('string', 'The dispute under which it was returned; null if the bank returned it without one'),
    date: DateTime('When it was returned'),
  },
  { title: 'Return', description: 'Money that went back to the payer other than by a refund' },
)

/** A refund as part of its transaction. */
export const RefundView = Type.Object(
  {
    id: Uuid('Identifier'),
    amount: Type.Integer({ description: 'Cents' }),
    status: Type.Enum(['PROCESSING', 'REFUNDED', 'FAILED'], {
      title: 'RefundStatus',
      description: 'The status of a refund',
    }),
    endToEndRefund: Nullable('string', 'endToEndId of the return'),
    reason: Nullable('string', 'Reason given in the request'),
    createdAt: DateTime('When it was requested'),
  },
  { title: 'Refund', description: 'A refund of a transaction' },
)

import { Type } from 'typebox'
import { Envelope, PageQuery } from '../http/page.ts'
import { DateTime, DateTimeFilter, EnumFilter, Nullable, Uuid } from '../http/schemas.ts'
import { recordTypes, transferKinds } from './accounts.ts'

export const BalanceQuery = Type.Object(
  { at: Type.Optional(DateTimeFilter('The balance at this moment; now by default')) },
  { additionalProperties: false },
)

const Cents = (description: string) => Type.Integer({ description })

export const BalanceView = Type.Object(
  {
    available: Cents('Cents that may be withdrawn or refunded'),
    reserved: Cents('Cents set aside for withdrawals and refunds in progress'),
    blocked: Cents('Cents set aside while payments are disputed (MED)'),
    debt: Cents('Cents owed, because the money of a disputed payment was already spent; later payments repay it first'),
    at: DateTime('The moment of this balance'),
  },
  { examples: [{ available: 125_000, reserved: 2_590, blocked: 0, debt: 0, at: '2026-11-21T12:00:00.000Z' }] },
)

export const StatementQuery = Type.Object(
  {
    startDate: Type.Optional(DateTimeFilter('Posted at or after')),
    endDate: Type.Optional(DateTimeFilter('Posted at or before')),
    kind: Type.Optional(EnumFilter(transferKinds, 'Any of these; repeat the parameter')),
    ...PageQuery,
  },
  { additionalProperties: false, 'x-ordered': [['startDate', 'endDate']] },
)

export const StatementEntryView = Type.Object({
  id: Type.Integer({ description: 'Number of the transfer' }),
  kind: Type.Enum([...transferKinds]),
  amount: Cents('Cents; negative if it left the available balance'),
  balance: Cents('The available balance after it, in cents'),
  recordType: Type.Enum([...recordTypes]),
  recordId: Uuid('Identifier of the record that it was posted for'),
  transactionId: Nullable(
    'string',
    'The transaction of that record: GET /transaction/{id} shows the refund, the dispute or the correction',
    'uuid',
  ),
  description: Nullable(
    'string',
    'Description of an entry whose recordId cannot be looked up: an entry of the operator (pay_in, manual_entry) or a correction. Null for all others',
  ),
  createdAt: DateTime('When it was posted'),
})

export const Statement = Envelope(StatementEntryView)

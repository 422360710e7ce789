import { type Static, Type } from 'typebox'
import { Envelope, PageQuery } from '../http/page.ts'
import { DateTime, DateTimeFilter, EnumFilter, Nullable, Uuid } from '../http/schemas.ts'
import { recordTypes, transferKinds } from './accounts.ts'
import { type CorrectedSubject, correctedSubjects } from './correction-texts.ts'

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
    debt: Cents(
      'Cents owed, because money that had to be taken back, such as that of a disputed payment, was already spent; later payments repay it first',
    ),
    at: DateTime('The moment of this balance'),
  },
  {
    title: 'Balance',
    description: 'The balance. Amounts are in cents',
    examples: [{ available: 125_000, reserved: 2_590, blocked: 0, debt: 0, at: '2026-11-21T12:00:00.000Z' }],
  },
)

const Kind = Type.Enum([...transferKinds], {
  title: 'StatementKind',
  description: 'The reason of a change of the available balance',
})

export const StatementQuery = Type.Object(
  {
    startDate: Type.Optional(DateTimeFilter('Posted at or after')),
    endDate: Type.Optional(DateTimeFilter('Posted at or before')),
    kind: Type.Optional(EnumFilter(Kind, 'Any of these; in the query, repeat the parameter')),
    ...PageQuery,
  },
  { additionalProperties: false, 'x-ordered': [['startDate', 'endDate']] },
)

export const StatementEntryView = Type.Object(
  {
    id: Type.Integer({ description: 'Number of the transfer' }),
    kind: Kind,
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
      'Description of an entry whose recordId cannot be looked up: an entry of the operator, such as pay_in or manual_entry, or a correction. Null for all others',
    ),
    correctedSubject: Type.Unsafe<CorrectedSubject | null>({
      type: ['string', 'null'],
      enum: [...correctedSubjects, null],
      description: 'Of a correction: what the list of the PSP and the ledger differed about. Null for all others',
    }),
    correctedReference: Nullable('string', 'Of a correction: the reference of that payment, return or payout'),
    createdAt: DateTime('When it was posted'),
  },
  {
    title: 'StatementEntry',
    description: 'One change of the available balance. Amounts are in cents',
    examples: [
      {
        id: 4711,
        kind: 'payment',
        amount: 2590,
        balance: 127_590,
        recordType: 'transaction',
        recordId: '0b7f3c0e-5c7b-4a5e-9a0d-3a1f4be0a2d1',
        transactionId: '0b7f3c0e-5c7b-4a5e-9a0d-3a1f4be0a2d1',
        description: null,
        correctedSubject: null,
        correctedReference: null,
        createdAt: '2026-11-21T12:01:35.000Z',
      },
    ],
  },
)

export const statementCsvExample =
  'id,created_at,kind,amount_cents,balance_cents,record_type,record_id,transaction_id,description,end_to_end,external_code,corrected_subject,corrected_reference\r\n' +
  '4711,2026-11-21T12:01:35.000Z,payment,2590,127590,transaction,0b7f3c0e-5c7b-4a5e-9a0d-3a1f4be0a2d1,0b7f3c0e-5c7b-4a5e-9a0d-3a1f4be0a2d1,,E60701190202611211201a1B2c3D4e5F,order-2026-0001,,\r\n'

export type StatementFilterQuery = Omit<Static<typeof StatementQuery>, keyof typeof PageQuery>

export const Statement = Envelope('StatementPage', StatementEntryView)

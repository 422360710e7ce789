import { type Static, Type } from 'typebox'
import { withoutPage } from '../http/csv.ts'
import { Envelope, PageQuery } from '../http/page.ts'
import {
  AccountHolderView,
  Amount,
  DateTime,
  DateTimeFilter,
  EnumFilter,
  FreeForm,
  Metadata,
  Nullable,
  PixKeyType,
  PixKeyView,
  Reference,
  StatusHistory,
  Uuid,
  WebhookUrl,
} from '../http/schemas.ts'
import { exampleId, exampleWithdrawal } from './examples.ts'
import { reviewReasons, withdrawalStatuses } from './status.ts'

export const withdrawalAmountMin = 10
/** An e-mail address is the longest kind of key: the limit of the Central Bank's directory. */
const pixKeyLengthMax = 77

const PixKeyInput = Type.Object(
  {
    key: Type.String({
      minLength: 1,
      maxLength: pixKeyLengthMax,
      description: 'Formatted or bare; stored in normal form',
    }),
    type: PixKeyType,
  },
  {
    title: 'PixKeyInput',
    description: 'A PIX key, which must be valid for its type',
    // So that a key that does not match its type is reported together with all other errors of the request.
    allOf: (['CPF', 'CNPJ', 'EMAIL', 'PHONE', 'EVP'] as const).map((type) => ({
      if: { properties: { type: { const: type } }, required: ['type'] },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
      then: { properties: { key: { format: `pix-key-${type.toLowerCase()}` } } },
    })),
  },
)

export const CreateWithdrawalBody = Type.Object(
  {
    amount: Amount(withdrawalAmountMin, 'Cents that the receiver gets; the fee comes on top'),
    method: Type.Enum(['PIX']),
    pixKey: PixKeyInput,
    webhookUrl: Type.Optional(WebhookUrl),
    externalCode: Type.Optional(Reference('Your reference; need not be unique')),
    idempotencyKey: Reference(
      'Requests with the same key and content return the same withdrawal. May be sent as the header Idempotency-Key',
    ),
    metadata: Type.Optional(Metadata),
  },
  {
    title: 'CreateWithdrawalBody',
    description: 'A withdrawal to a PIX key',
    examples: [
      {
        amount: 150000,
        method: 'PIX',
        pixKey: { key: '+5511987654321', type: 'PHONE' },
        webhookUrl: 'https://shop.example.com/webhooks/pix',
        externalCode: 'payout-2026-0001',
        idempotencyKey: 'payout-2026-0001-try-1',
      },
    ],
  },
)

export type CreateWithdrawalInput = Static<typeof CreateWithdrawalBody>

const Hold = Type.Optional(
  Type.Enum([...reviewReasons], {
    title: 'WithdrawalHold',
    description:
      'Present while it is pending review and not sent: it waits for the operator (approval), or it looks like a recent one and waits for POST /withdrawal/{id}/confirm (duplicate)',
  }),
)

const Status = Type.Enum([...withdrawalStatuses], {
  title: 'WithdrawalStatus',
  description: 'The status of a withdrawal',
})

export const WithdrawalCreatedView = Type.Object(
  {
    id: Uuid('Identifier of the withdrawal'),
    externalCode: Type.Optional(Type.String()),
    amount: Type.Integer({ description: 'Cents' }),
    type: Type.Enum(['WITHDRAWAL']),
    status: Type.Enum(['PENDING']),
    hold: Hold,
  },
  {
    title: 'WithdrawalCreated',
    description: 'The answer to a withdrawal request',
    examples: [
      { id: exampleId, externalCode: 'payout-2026-0001', amount: 150_000, type: 'WITHDRAWAL', status: 'PENDING' },
    ],
  },
)

export const WithdrawalParams = Type.Object({
  id: Type.String({ format: 'uuid-any', description: 'Identifier of the withdrawal' }),
})

export const WithdrawalView = Type.Object(
  {
    id: Uuid('Identifier'),
    acquirer: Type.String(),
    amount: Type.Integer({ description: 'Cents' }),
    method: Type.Enum(['PIX']),
    webhookUrl: Type.Optional(Type.String()),
    externalCode: Type.Optional(Type.String()),
    metadata: Type.Optional(FreeForm()),
    createdAt: DateTime('Creation'),
    status: Status,
    hold: Hold,
    statusHistory: StatusHistory('WithdrawalStatusEntry', Status),
    updatedAt: DateTime('Last change'),
    amountWithdrawn: Type.Optional(Type.Integer({ description: 'Cents sent' })),
    processedDate: Type.Optional(DateTime('When the bank executed it')),
    errorMessage: Nullable('string', 'Why it failed, was rejected or was returned'),
    endToEnd: Type.Optional(Type.String({ description: 'endToEndId of the Pix' })),
    payer: Type.Optional(AccountHolderView),
    receiver: Type.Optional(AccountHolderView),
    pixKey: Type.Optional(PixKeyView),
    feeAmount: Type.Optional(
      Type.Integer({ description: 'Fee in cents, on top of the amount; returned if the withdrawal is not sent' }),
    ),
  },
  {
    title: 'Withdrawal',
    description: 'Money sent to a PIX key. Amounts are in cents, dates in ISO 8601',
    examples: [exampleWithdrawal('PROCESSED')],
  },
)

export type WithdrawalResponse = Static<typeof WithdrawalView>

export const WithdrawalList = Envelope('WithdrawalPage', WithdrawalView)

export const ListWithdrawalsQuery = Type.Object(
  {
    startDate: Type.Optional(DateTimeFilter('Created at or after')),
    endDate: Type.Optional(DateTimeFilter('Created at or before')),
    status: Type.Optional(EnumFilter(Status, 'Any of these; in the query, repeat the parameter')),
    id: Type.Optional(Type.String({ format: 'uuid-v4', description: 'Its identifier' })),
    pixKey: Type.Optional(
      Type.String({ format: 'pix-key', maxLength: 77, description: 'CPF, CNPJ, e-mail, phone or EVP' }),
    ),
    endToEnd: Type.Optional(Reference('endToEndId of the Pix')),
    endToEndRefund: Type.Optional(Reference('endToEndId of the return')),
    externalCode: Type.Optional(Reference('Your reference')),
    minAmount: Type.Optional(Amount(withdrawalAmountMin, 'Cents')),
    maxAmount: Type.Optional(Amount(withdrawalAmountMin, 'Cents')),
    ...PageQuery,
  },
  {
    additionalProperties: false,
    'x-ordered': [
      ['startDate', 'endDate'],
      ['minAmount', 'maxAmount'],
    ],
  },
)

/** The same filters as a body. */
export const SearchWithdrawalsBody = {
  ...ListWithdrawalsQuery,
  title: 'SearchWithdrawalsBody',
  description: 'Filters of withdrawals; all must match',
  examples: [{ pixKey: 'maria@example.com', status: ['PROCESSED'] }],
}

export const ExportWithdrawalsBody = { ...withoutPage(SearchWithdrawalsBody), title: 'ExportWithdrawalsBody' }

export const withdrawalsCsvExample =
  'id,created_at,status,amount_cents,fee_cents,amount_withdrawn_cents,processed_date,pix_key,pix_key_type,end_to_end,end_to_end_refund,external_code,error_message,receiver_name,receiver_document,posted_at\r\n' +
  "c4a1d2e3-8f6b-4d57-a9c0-5b2e7f3d1a64,2026-11-22T09:00:00.000Z,PROCESSED,150000,80,150000,2026-11-22T09:00:02.100Z,'+5511987654321,PHONE,E60701190202611220900b2C3d4E5f6G,,payout-2026-0001,,Maria da Silva,52998224725,2026-11-22T09:00:02.500Z\r\n"

export type ListWithdrawalsFilters = Static<typeof ListWithdrawalsQuery>
export type WithdrawalFilterQuery = Omit<ListWithdrawalsFilters, keyof typeof PageQuery>

import { type Static, Type } from 'typebox'
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
  PixKeyView,
  Reference,
  StatusHistory,
  Uuid,
  WebhookUrl,
} from '../http/schemas.ts'
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
    type: Type.Enum(['CPF', 'CNPJ', 'EMAIL', 'PHONE', 'EVP']),
  },
  {
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
    description:
      'Present while it is pending review and not sent: it waits for the operator (approval), or it looks like a recent one and waits for POST /withdrawal/{id}/confirm (duplicate)',
  }),
)

export const WithdrawalCreatedView = Type.Object({
  id: Uuid('Identifier of the withdrawal'),
  externalCode: Type.Optional(Type.String()),
  amount: Type.Integer({ description: 'Cents' }),
  type: Type.Enum(['WITHDRAWAL']),
  status: Type.Enum(['PENDING']),
  hold: Hold,
})

export const WithdrawalParams = Type.Object({
  id: Type.String({ format: 'uuid-any', description: 'Identifier of the withdrawal' }),
})

export const WithdrawalView = Type.Object({
  id: Uuid('Identifier'),
  acquirer: Type.String(),
  amount: Type.Integer({ description: 'Cents' }),
  method: Type.Enum(['PIX']),
  webhookUrl: Type.Optional(Type.String()),
  externalCode: Type.Optional(Type.String()),
  metadata: Type.Optional(FreeForm()),
  createdAt: DateTime('Creation'),
  status: Type.Enum([...withdrawalStatuses]),
  hold: Hold,
  statusHistory: StatusHistory(withdrawalStatuses),
  updatedAt: DateTime('Last change'),
  amountWithdrawn: Type.Optional(Type.Integer({ description: 'Cents sent' })),
  processedDate: Type.Optional(DateTime('When the bank executed it')),
  errorMessage: Nullable('string', 'Why it failed, was rejected or was returned'),
  endToEnd: Type.Optional(Type.String({ description: 'endToEndId of the Pix' })),
  payer: Type.Optional(AccountHolderView),
  receiver: Type.Optional(AccountHolderView),
  pixKey: Type.Optional(PixKeyView),
  feeAmount: Type.Optional(Type.Integer({ description: 'Cents on top of the amount; returned if it is not sent' })),
})

export type WithdrawalResponse = Static<typeof WithdrawalView>

export const WithdrawalList = Envelope(WithdrawalView)

export const ListWithdrawalsQuery = Type.Object(
  {
    startDate: Type.Optional(DateTimeFilter('Created at or after')),
    endDate: Type.Optional(DateTimeFilter('Created at or before')),
    status: Type.Optional(EnumFilter(withdrawalStatuses, 'Any of these; repeat the parameter')),
    id: Type.Optional(Type.String({ format: 'uuid-v4' })),
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
  examples: [{ pixKey: 'maria@example.com', status: ['PROCESSED'] }],
}

export type ListWithdrawalsFilters = Static<typeof ListWithdrawalsQuery>

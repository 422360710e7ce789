import { type Static, Type } from 'typebox'
import { Envelope, PageQuery } from '../http/page.ts'
import {
  AccountHolderView,
  Amount,
  DateTime,
  DateTimeFilter,
  EnumFilter,
  Nullable,
  PixKeyView,
  Reference,
  StatusHistory,
  Uuid,
} from '../http/schemas.ts'
import { withdrawalStatuses } from './status.ts'

export const withdrawalAmountMin = 10

export const WithdrawalView = Type.Object({
  id: Uuid('Identifier'),
  acquirer: Type.String(),
  amount: Type.Integer({ description: 'Cents' }),
  method: Type.Enum(['PIX']),
  webhookUrl: Type.Optional(Type.String()),
  externalCode: Type.Optional(Type.String()),
  createdAt: DateTime('Creation'),
  status: Type.Enum([...withdrawalStatuses]),
  statusHistory: StatusHistory(withdrawalStatuses),
  updatedAt: DateTime('Last change'),
  amountWithdrawn: Type.Optional(Type.Integer({ description: 'Cents that left' })),
  processedDate: Type.Optional(DateTime('When the bank carried it out')),
  errorMessage: Nullable('string', 'Why it failed'),
  endToEnd: Type.Optional(Type.String({ description: 'endToEndId of the Pix' })),
  payer: Type.Optional(AccountHolderView),
  receiver: Type.Optional(AccountHolderView),
  pixKey: Type.Optional(PixKeyView),
  feeAmount: Type.Optional(Type.Integer({ description: 'Cents' })),
})

export type WithdrawalWire = Static<typeof WithdrawalView>

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

export type ListWithdrawalsFilters = Static<typeof ListWithdrawalsQuery>

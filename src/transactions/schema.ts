import { type Static, Type } from 'typebox'
import { withoutPage } from '../http/csv.ts'
import { Envelope, PageQuery } from '../http/page.ts'
import {
  AccountHolderView,
  Amount,
  amountMax,
  DateTime,
  DateTimeFilter,
  Defaulted,
  EnumFilter,
  FreeForm,
  Metadata,
  Nullable,
  Reference,
  ReturnUrl,
  StatusHistory,
  Uuid,
  WebhookUrl,
} from '../http/schemas.ts'
import { exampleId, examplePix, exampleTransaction } from './examples.ts'
import { DisputeView, RefundView, ReturnView } from './refund/schema.ts'
import { failureCodes, transactionStatuses } from './status.ts'

const nameLengthMax = 255
const emailLengthMax = 254
/** The largest number of items. The whole body is limited to 64 KiB. */
const itemsMax = 100

const Name = Type.String({ format: 'international-name', minLength: 1, maxLength: nameLengthMax })
export const Document = Type.String({
  format: 'document',
  description: 'CPF or CNPJ, with or without punctuation; a CNPJ may be alphanumeric',
})
const Text = (minLength: number, maxLength: number) => Type.String({ minLength, maxLength })

export const Customer = Type.Object(
  {
    ip: Type.Optional(Type.String({ format: 'ip-address' })),
    name: Name,
    document: Document,
    email: Type.String({ format: 'email', maxLength: emailLengthMax }),
    landline: Type.Optional(Type.String({ format: 'landline-phone', maxLength: 30 })),
    mobilePhone: Type.Optional(Type.String({ format: 'mobile-phone', maxLength: 30 })),
    birthdate: Type.Optional(Type.String({ format: 'iso-date' })),
  },
  { title: 'CustomerInput', description: 'The customer' },
)

const Seller = Type.Object({ name: Name, document: Document }, { title: 'SellerInput', description: 'The seller' })

const Address = Type.Object(
  {
    zipCode: Type.String({ format: 'zip-code' }),
    complement: Type.Optional(Text(2, 150)),
    number: Type.String({ format: 'digits-only', minLength: 1, maxLength: 10 }),
    street: Text(2, 200),
    neighborhood: Text(2, 100),
    city: Text(2, 100),
    state: Text(2, 50),
    country: Text(2, 60),
  },
  { title: 'AddressInput', description: 'The delivery address of a physical product' },
)

const Item = Type.Object(
  {
    title: Text(2, 150),
    description: Type.Optional(Text(2, 255)),
    unitPrice: Amount(1, 'Cents'),
    quantity: Defaulted(Type.Integer({ minimum: 1, maximum: 100, default: 1 })),
  },
  { title: 'ItemInput', description: 'An item of the purchase' },
)

export const CreateTransactionBody = Type.Object(
  {
    amount: Amount(1, 'Cents'),
    paymentMethod: Type.Enum(['PIX']),
    webhookUrl: Type.Optional(WebhookUrl),
    returnUrl: Type.Optional(ReturnUrl),
    externalCode: Type.Optional(Reference('Your reference; need not be unique')),
    idempotencyKey: Type.Optional(Reference('Requests with the same key and content return the same transaction')),
    customer: Type.Optional(Customer),
    seller: Type.Optional(Seller),
    isInfoProduct: Defaulted(
      Type.Boolean({ default: true, description: 'Digital product; a physical one needs an address' }),
    ),
    address: Type.Optional(Address),
    items: Type.Optional(Type.Array(Item, { maxItems: itemsMax })),
    description: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 140,
        description: 'What is bought, as the payer’s bank shows it after your name; by default the titles of the items',
      }),
    ),
    metadata: Type.Optional(Metadata),
    pix: Type.Object({
      expirationSeconds: Defaulted(
        Type.Integer({ minimum: 60, maximum: 86_400, default: 1800, description: 'Lifetime of the QR code' }),
      ),
    }),
  },
  {
    if: { properties: { isInfoProduct: { const: false } }, required: ['isInfoProduct'] },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: { required: ['address'] },
    title: 'CreateTransactionBody',
    description: 'A charge. `address` is required if `isInfoProduct` is false',
    examples: [
      {
        amount: 2590,
        paymentMethod: 'PIX',
        webhookUrl: 'https://shop.example.com/webhooks/pix',
        returnUrl: 'https://shop.example.com/thanks',
        externalCode: 'order-2026-0001',
        idempotencyKey: 'order-2026-0001-try-1',
        customer: {
          name: 'Maria da Silva',
          document: '529.982.247-25',
          email: 'maria@example.com',
          mobilePhone: '(11) 98765-4321',
        },
        items: [{ title: 'Café torrado 500 g', unitPrice: 2590, quantity: 1 }],
        description: 'Pedido 2026-0001',
        metadata: { cart: '8812' },
        pix: { expirationSeconds: 1800 },
      },
    ],
  },
)

export type CreateTransactionInput = Static<typeof CreateTransactionBody>

const PixResponseView = Type.Object(
  {
    uri: Type.String({ description: 'Copy-and-paste code (BR Code)' }),
    qrCodeBase64: Type.String({ description: 'The same as a PNG image, as a data URL' }),
    expirationDate: DateTime('When the code expires'),
  },
  { title: 'PixCode', description: 'The code that a payer pays: as text to copy, and as a QR image' },
)

export const TransactionCreatedView = Type.Object(
  {
    id: Uuid('Identifier of the transaction'),
    externalCode: Type.Optional(Type.String()),
    amount: Type.Integer({ description: 'Cents' }),
    type: Type.Enum(['TRANSACTION']),
    status: Type.Enum(['PIX_QRCODE_GENERATED']),
    pixResponse: PixResponseView,
    paymentUrl: Type.String({
      description: 'The payment page of this transaction: send the customer there. Its address does not change',
    }),
  },
  {
    title: 'TransactionCreated',
    description: 'The answer to a create',
    examples: [
      {
        id: exampleId,
        externalCode: 'order-2026-0001',
        amount: 2590,
        type: 'TRANSACTION',
        status: 'PIX_QRCODE_GENERATED',
        pixResponse: examplePix,
        paymentUrl: 'https://pix.example.com/pay/C388DlxhS16aDToflOCg0kq0sd3WmYQ7hEo2dBv6Jhc',
      },
    ],
  },
)

const DocumentView = Type.Object(
  { value: Type.String({ description: 'Without punctuation' }), type: Type.Enum(['CPF', 'CNPJ']) },
  { title: 'TaxDocument', description: 'A CPF or CNPJ' },
)

const AddressView = Type.Object(
  {
    zipCode: Type.String(),
    complement: Type.Optional(Type.String()),
    number: Type.String(),
    street: Type.String(),
    neighborhood: Type.String(),
    city: Type.String(),
    state: Type.String(),
    country: Type.String(),
  },
  { title: 'Address', description: 'The delivery address of a physical product' },
)

const ItemView = Type.Object(
  {
    title: Type.String(),
    description: Type.Optional(Type.String()),
    unitPrice: Type.Integer({ description: 'Cents' }),
    quantity: Type.Integer(),
  },
  { title: 'Item', description: 'An item of the purchase' },
)

const Status = Type.Enum([...transactionStatuses], {
  title: 'TransactionStatus',
  description: 'The status of a transaction',
})

export const TransactionView = Type.Object(
  {
    id: Uuid('Identifier'),
    acquirer: Type.String(),
    amount: Type.Integer({ description: 'Cents', minimum: 1, maximum: amountMax }),
    paymentMethod: Type.Enum(['PIX']),
    webhookUrl: Type.Optional(Type.String()),
    returnUrl: Type.Optional(Type.String({ description: 'As in the request' })),
    externalCode: Type.Optional(Type.String()),
    customer: Type.Optional(
      Type.Object(
        {
          ip: Type.Optional(Type.String()),
          name: Type.String(),
          email: Type.String(),
          document: DocumentView,
          landline: Type.Optional(Type.String()),
          mobilePhone: Type.Optional(Type.String()),
        },
        { title: 'Customer', description: 'The customer' },
      ),
    ),
    seller: Type.Optional(
      Type.Object({ name: Type.String(), document: DocumentView }, { title: 'Seller', description: 'The seller' }),
    ),
    isInfoProduct: Type.Boolean(),
    address: Type.Optional(AddressView),
    items: Type.Optional(Type.Array(ItemView)),
    description: Type.Optional(Type.String({ description: 'As in the request' })),
    metadata: Type.Optional(FreeForm()),
    createdAt: DateTime('Creation'),
    status: Status,
    statusHistory: StatusHistory('TransactionStatusEntry', Status),
    updatedAt: DateTime('Last change'),
    amountPaid: Type.Optional(Type.Integer({ description: 'Cents received' })),
    amountRefunded: Type.Optional(Type.Integer({ description: 'Cents refunded; present once paid' })),
    refunds: Type.Optional(
      Type.Array(RefundView, { description: 'In the order of their requests; present once paid' }),
    ),
    amountReturned: Type.Optional(
      Type.Integer({
        description: 'Cents returned other than by refunds: under MED, or by the bank; present once paid',
      }),
    ),
    disputes: Type.Optional(
      Type.Array(DisputeView, { description: 'Disputes (MED), the oldest first; present once paid' }),
    ),
    returns: Type.Optional(Type.Array(ReturnView, { description: 'Returns other than refunds; present once paid' })),
    paymentDate: Type.Optional(DateTime('When the payer paid')),
    infractionDate: Nullable('string', 'When a dispute (MED) was opened', 'date-time'),
    pixResponse: Type.Object(
      {
        uri: Nullable('string', 'Copy-and-paste code (BR Code)'),
        qrCodeBase64: Nullable('string', 'The same as a PNG image, as a data URL'),
        expirationDate: Nullable('string', 'When the code expires', 'date-time'),
      },
      {
        title: 'PixCodeIfAny',
        description: 'The code of a transaction. All three fields are null if the acquirer has given no code',
      },
    ),
    errorMessage: Nullable('string', 'Why it failed, or why a refund was refused'),
    failureCode: Type.Optional(
      Type.Enum([...failureCodes], {
        description:
          'Why the status is FAILED, as a code to compare; `refused`: the acquirer refused the charge, and `errorMessage` has its reason',
      }),
    ),
    endToEnd: Type.Optional(Type.String({ description: 'endToEndId of the Pix' })),
    payer: Type.Optional(AccountHolderView),
    receiver: Type.Optional(AccountHolderView),
    feeAmount: Type.Optional(Type.Integer({ description: 'Cents' })),
  },
  {
    title: 'Transaction',
    description: 'A charge by PIX. Amounts are in cents, dates in ISO 8601',
    examples: [exampleTransaction('PAID')],
  },
)

export type TransactionResponse = Static<typeof TransactionView>

export const TransactionList = Envelope('TransactionPage', TransactionView)

export const ListTransactionsQuery = Type.Object(
  {
    startDate: Type.Optional(DateTimeFilter('Created at or after')),
    endDate: Type.Optional(DateTimeFilter('Created at or before')),
    status: Type.Optional(EnumFilter(Status, 'Any of these; in the query, repeat the parameter')),
    customerEmail: Type.Optional(
      Type.String({ format: 'email', maxLength: emailLengthMax, description: 'Case does not matter' }),
    ),
    customerName: Type.Optional(
      Type.String({
        format: 'international-name',
        minLength: 1,
        maxLength: nameLengthMax,
        description: 'Any part of it; case and accents do not matter',
      }),
    ),
    customerDocument: Type.Optional(Document),
    customerPhone: Type.Optional(
      Type.String({ format: 'phone-search', maxLength: 30, description: 'Either phone; only the digits are compared' }),
    ),
    id: Type.Optional(Type.String({ format: 'uuid-v4', description: 'Its identifier' })),
    endToEnd: Type.Optional(Reference('endToEndId of the Pix')),
    endToEndRefund: Type.Optional(Reference('endToEndId of a refund or another return, MED included')),
    externalCode: Type.Optional(Reference('Your reference')),
    paymentMethod: Type.Optional(EnumFilter(Type.Enum(['PIX']), 'Any of these')),
    minAmount: Type.Optional(Amount(1, 'Cents')),
    maxAmount: Type.Optional(Amount(1, 'Cents')),
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
export const SearchTransactionsBody = {
  ...ListTransactionsQuery,
  title: 'SearchTransactionsBody',
  description: 'Filters of transactions; all must match',
  examples: [{ customerDocument: '529.982.247-25', status: ['PAID'], startDate: '2026-11-01T00:00:00Z' }],
}

export const ExportTransactionsBody = { ...withoutPage(SearchTransactionsBody), title: 'ExportTransactionsBody' }

export const transactionsCsvExample =
  'id,created_at,status,amount_cents,amount_paid_cents,amount_refunded_cents,fee_cents,payment_date,end_to_end,external_code,customer_name,customer_document,customer_email,error_message,payer_name,payer_document,amount_returned_cents,net_cents,posted_at\r\n' +
  '0b7f3c0e-5c7b-4a5e-9a0d-3a1f4be0a2d1,2026-11-21T12:00:00.000Z,PAID,2590,2590,0,55,2026-11-21T12:01:35.000Z,E60701190202611211201a1B2c3D4e5F,order-2026-0001,Maria da Silva,52998224725,maria@example.com,,João Souza,11144477735,0,2535,2026-11-21T12:01:36.000Z\r\n'

export type ListTransactionsFilters = Static<typeof ListTransactionsQuery>
export type TransactionFilterQuery = Omit<ListTransactionsFilters, keyof typeof PageQuery>

export const TransactionParams = Type.Object({
  id: Type.String({ format: 'uuid-any', description: 'Identifier of the transaction' }),
})

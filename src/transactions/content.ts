import type { ChargeTexts } from '../acquirers/acquirer.ts'
import { assert } from '../lib/assert.ts'
import type { TaxDocument } from '../lib/document.ts'
import { differingPaths } from '../lib/json.ts'
import { phoneDigits } from '../lib/phone.ts'
import type { CreateTransactionInput } from './schema.ts'
import type { TransactionRow } from './store.ts'

/**
 * The content of a create request after defaults and normalisation (documents without punctuation). Two requests with
 * the same idempotency key are the same request if their contents are equal in {@link toNormalForm}. The fields are
 * named as in the request.
 */
export type TransactionContent = ReturnType<typeof toContent>

export function toContent(input: CreateTransactionInput) {
  return {
    amount: input.amount,
    paymentMethod: input.paymentMethod,
    webhookUrl: input.webhookUrl ?? null,
    returnUrl: input.returnUrl ?? null,
    externalCode: input.externalCode ?? null,
    customer: input.customer ? toCustomer(input.customer) : null,
    seller: input.seller ? { name: input.seller.name, document: toDocument(input.seller.document) } : null,
    isInfoProduct: input.isInfoProduct,
    address: input.address ? pickAddress(input.address) : null,
    items: input.items
      ? input.items.map(({ title, description, unitPrice, quantity }) => ({ title, description, unitPrice, quantity }))
      : null,
    description: input.description ?? null,
    metadata: input.metadata ?? null,
    pix: { expirationSeconds: input.pix.expirationSeconds },
  }
}

/** The content from which a stored transaction was created. */
export function contentOf(row: TransactionRow): TransactionContent {
  return {
    amount: row.amount,
    paymentMethod: 'PIX',
    webhookUrl: row.webhook_url,
    returnUrl: row.return_url,
    externalCode: row.external_code,
    customer: row.customer ? pickCustomer(row.customer) : null,
    seller: row.seller,
    isInfoProduct: row.is_info_product,
    address: row.address ? pickAddress(row.address) : null,
    items: row.items
      ? row.items.map(({ title, description, unitPrice, quantity }) => ({ title, description, unitPrice, quantity }))
      : null,
    description: row.description,
    metadata: row.metadata,
    pix: { expirationSeconds: row.pix_expiration_seconds },
  }
}

/**
 * What the acquirer may show to the payer. The result is the same from the request and from the stored row, so a
 * repeated request to the acquirer sends the same texts.
 */
export function toChargeTexts(
  merchantName: string,
  content: Pick<TransactionRow, 'customer' | 'seller' | 'items' | 'description'>,
): ChargeTexts {
  const { customer, seller, items, description } = content
  return {
    merchantName,
    sellerName: seller?.name ?? null,
    description,
    items: items ?? [],
    payer: customer && { name: customer.name, document: customer.document },
  }
}

/**
 * Two spellings of one postal code or phone number are the same content. The stored and displayed value keeps the
 * spelling of the request.
 */
export function toNormalForm(content: TransactionContent) {
  const { customer, address } = content
  const digits = (phone: string | undefined) => (phone === undefined ? undefined : phoneDigits(phone))
  return {
    ...content,
    customer: customer && {
      ...customer,
      landline: digits(customer.landline),
      mobilePhone: digits(customer.mobilePhone),
    },
    address: address && { ...address, zipCode: address.zipCode.replace('-', '') },
  }
}

/** The names of the fields in which two contents differ, as in a request. Never their values. */
export function differingFields(left: TransactionContent, right: TransactionContent): string[] {
  // A document is one string in the request and two fields here.
  const fields = differingPaths(toNormalForm(left), toNormalForm(right)).map((path) =>
    path.replace(/^(customer|seller)\.document\..*/, '$1.document'),
  )
  return [...new Set(fields)]
}

type Input<Name extends keyof CreateTransactionInput> = NonNullable<CreateTransactionInput[Name]>

function toCustomer(customer: Input<'customer'>) {
  return pickCustomer({ ...customer, document: toDocument(customer.document) })
}

/** Keeps only the fields that the API names; others are ignored. */
function pickCustomer<Document>(customer: Omit<Input<'customer'>, 'document'> & { document: Document }) {
  const { ip, name, document, email, landline, mobilePhone, birthdate } = customer
  return { ip, name, document, email, landline, mobilePhone, birthdate }
}

function pickAddress(address: Input<'address'>) {
  const { zipCode, complement, number, street, neighborhood, city, state, country } = address
  return { zipCode, complement, number, street, neighborhood, city, state, country }
}

/**
 * The document without punctuation. The request validation checked its check digits: to check them again would cost
 * as much as everything else here.
 */
function toDocument(text: string): TaxDocument {
  const value = text.replace(/[./-]/g, '').toUpperCase()
  const type = documentTypes[value.length]
  assert(type, 'request validation accepts only documents of 11 or 14 characters')
  return { value, type }
}

const documentTypes: Record<number, TaxDocument['type']> = { 11: 'CPF', 14: 'CNPJ' }

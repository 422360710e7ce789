import type { Reads } from '../db/sql.ts'
import { amountMax } from '../http/schemas.ts'
import { parseDocument } from '../lib/document.ts'
import { toSearchText } from '../lib/text.ts'
import { fromTxid } from '../pix/ids.ts'
import type { Hit as HitView, SearchResults } from './schema.ts'
import * as store from './search-store.ts'

/** What a text may mean. Each meaning has a query of its own. */
export type SearchTerms = {
  id: string | null
  endToEnd: string | null
  document: string | null
  email: string | null
  amount: number | null
  code: string | null
  /** Words of a name; none if the text cannot be a name. */
  nameWords: string[]
}

/** Shorter texts are found in too many records. */
const codeCharsMin = 3
const nameCharsMin = 3
/** Of a longer name only the first words are searched. */
const nameWordsMax = 6

export function toSearchTerms(text: string): SearchTerms {
  const id = fromTxid(text.replaceAll('-', ''))
  const isOneWord = !/\s/.test(text)
  const document = parseDocument(text)?.value ?? null
  const isEmail = isOneWord && text.indexOf('@') > 0
  return {
    id,
    endToEnd: /^[A-Za-z0-9]{32}$/.test(text) ? text : null,
    document,
    email: isEmail ? text.toLowerCase() : null,
    amount: document === null ? parseAmount(text) : null,
    code: isOneWord && id === null && text.length >= codeCharsMin ? text : null,
    nameWords: id === null && !isEmail ? toNameWords(text) : [],
  }
}

/**
 * One word with a digit, such as `order-77`, is a code and not a name. Several words, such as `Loja 77`, may be a name.
 */
function toNameWords(text: string): string[] {
  const words = toSearchText(text).split(/\s+/).slice(0, nameWordsMax)
  if (!/\p{L}/u.test(text) || (words.length === 1 && /\d/.test(text))) return []
  return words.join('').length >= nameCharsMin ? words : []
}

/**
 * `"R$ 1.234,56"`, `"1,234.56"`, `"25,90"` or `"100"` in cents; null for other texts, and for amounts above the limit
 * of a transaction.
 */
export function parseAmount(text: string): number | null {
  const bare = text.replace(/^R\$/i, '').replace(/\s/g, '')
  const match =
    /^(\d{1,3}(?:\.\d{3})*|\d+)(?:,(\d{1,2}))?$/.exec(bare) ?? /^(\d{1,3}(?:,\d{3})*|\d+)(?:\.(\d{1,2}))?$/.exec(bare)
  if (!match) return null
  const reais = Number((match[1] ?? '').replace(/[.,]/g, ''))
  const cents = reais * 100 + Number((match[2] ?? '').padEnd(2, '0'))
  return cents > 0 && cents <= amountMax ? cents : null
}

/**
 * Finds records by whatever a person may know of them, and the customers whom they name. If the text is the id or
 * end-to-end id of a record, nothing else is searched. An id that no record has may be a random Pix key.
 */
export async function search(
  db: Reads,
  { text, ...filter }: store.SearchFilter & { text: string },
): Promise<SearchResults> {
  const terms = toSearchTerms(text)
  const found = await find(db, filter, terms)
  // A record may be found in several ways, such as by its customer's name and by its code.
  const foundByCustomer = new Set(found.filter(({ matched }) => personal.has(matched)).map(({ id }) => id))
  const hits = found.length === 0 ? [] : await store.listHits(db, found)
  return {
    customers: toCustomers(hits.filter(({ id }) => foundByCustomer.has(id))),
    records: hits.map(toHitView),
    leavesOutOlderNames: terms.nameWords.length > 0 && (await store.leavesOutOlderNames(db, filter)),
  }
}

const personal: ReadonlySet<store.Matched> = new Set(['name', 'document', 'email'])

async function find(db: Reads, filter: store.SearchFilter, terms: SearchTerms): Promise<store.Found[]> {
  const { id, endToEnd, document, email, amount, code, nameWords } = terms
  const certain = [
    ...(id === null ? [] : await store.findById(db, filter, id)),
    ...(endToEnd === null ? [] : await store.findByEndToEnd(db, filter, endToEnd)),
  ]
  if (certain.length > 0) return certain
  const pixKey = document ?? email ?? id
  const results = await Promise.all([
    nameWords.length > 0 ? store.findByName(db, filter, nameWords) : [],
    pixKey === null ? [] : store.findByPixKey(db, filter, pixKey),
    document === null ? [] : store.findByDocument(db, filter, document),
    email === null ? [] : store.findByEmail(db, filter, email),
    amount === null ? [] : store.findByAmount(db, filter, amount),
    code === null ? [] : store.findByCode(db, filter, code),
  ])
  return results.flat()
}

/** At most this many customers are listed: who finds more should search for a more specific text. */
const customersMax = 6

/** The different customers of records, each with the newest record that was found. */
function toCustomers(hits: store.Hit[]): SearchResults['customers'] {
  const customers = new Map<string, SearchResults['customers'][number]>()
  for (const { id, clientId, customerName: name, customerDocument: document, customerEmail } of hits) {
    const key = `${clientId} ${document ?? customerEmail}`
    if (name !== null && !customers.has(key))
      customers.set(key, { id, clientId, name, document: document && maskDocument(document) })
  }
  return [...customers.values()].slice(0, customersMax)
}

function toHitView({ customerDocument: _, customerEmail: __, createdAt, ...hit }: store.Hit): HitView {
  return { ...hit, createdAt: createdAt.toISOString() }
}

/** `"***.982.247-**"`: enough to tell two people of one name apart. A CNPJ is public. */
function maskDocument(document: string): string {
  return document.length === 11 ? `***.${document.slice(3, 6)}.${document.slice(6, 9)}-**` : document
}

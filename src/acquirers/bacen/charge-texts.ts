import type { ChargeTexts } from '../acquirer.ts'
import type { ProtocolProfile } from './profile.ts'

// The standard's limits.
const nameLengthMax = 200
const messageLengthMax = 140
const detailsMax = 50
const detailLengthMax = 200
/** The merchant's name is cut to this length in the message, so that there is room for what is sold. */
const merchantLengthMax = 40

/**
 * The optional fields of a charge: whom it is addressed to, and what the payer's bank shows. A field without a readable
 * text, or that this PSP does not take, is left out. The same texts always give the same fields.
 */
export function toTextFields(texts: ChargeTexts, takes: ProtocolProfile['charge']) {
  const merchant = toShownText(texts.merchantName, detailLengthMax)
  const goods = listGoods(texts)
  return {
    devedor: takes.payer ? toDebtor(texts) : undefined,
    solicitacaoPagador: takes.message ? toMessage(texts, merchant, goods) : undefined,
    infoAdicionais: takes.details ? toDetails(texts, merchant, goods) : undefined,
  }
}

function toDebtor({ payer }: ChargeTexts) {
  const nome = payer && toShownText(payer.name, nameLengthMax)
  if (!nome) return undefined
  const { type, value } = payer.document
  return type === 'CPF' ? { cpf: value, nome } : { cnpj: value, nome }
}

/** From whom, then what: several merchants may use one account, and some banks show this text only. */
function toMessage({ description }: ChargeTexts, merchant: string, goods: string[]): string | undefined {
  const what = description === null ? goods.join(', ') : toShownText(description, messageLengthMax)
  const from = cut(merchant, merchantLengthMax)
  return cut([from, what].filter(Boolean).join(': '), messageLengthMax) || undefined
}

function toDetails({ sellerName, description }: ChargeTexts, merchant: string, goods: string[]) {
  const seller = sellerName === null ? '' : toShownText(sellerName, detailLengthMax)
  const details = [
    { nome: 'Loja', valor: merchant },
    { nome: 'Vendedor', valor: seller === merchant ? '' : seller },
    { nome: 'Descrição', valor: description === null ? '' : toShownText(description, detailLengthMax) },
    ...goods.map((title, index) => ({ nome: `Item ${index + 1}`, valor: cut(title, detailLengthMax) })),
  ].filter(({ valor }) => valor !== '')
  if (details.length === 0) return undefined
  if (details.length <= detailsMax) return details
  const more = details.length - detailsMax + 1
  return [...details.slice(0, detailsMax - 1), { nome: 'Outros itens', valor: String(more) }]
}

function listGoods({ items }: ChargeTexts): string[] {
  const titles = items.map(({ title, quantity }) => {
    const shown = toShownText(title, detailLengthMax)
    return shown !== '' && quantity > 1 ? `${quantity} x ${shown}` : shown
  })
  return titles.filter((title) => title !== '')
}

// Western European letters, digits and common punctuation: what every PSP and bank is known to show.
const shown = String.raw`A-Za-z0-9À-ÖØ-öø-ÿªº°§ .,:;!?'"()/+&%@#*=_$-`
const isShown = new RegExp(`^[${shown}]*$`)
const notShown = new RegExp(`[^${shown}]`, 'g')
const replacements: Record<string, string> = {
  ...{ '’': "'", '‘': "'", '“': '"', '”': '"', '«': '"', '»': '"', '–': '-', '—': '-', '−': '-' },
  ...{
    Ł: 'L',
    ł: 'l',
    '…': '...',
    '×': 'x',
    '÷': '/',
    '•': '-',
    '·': '-',
    '[': '(',
    ']': ')',
    '{': '(',
    '}': ')',
    '|': '/',
  },
}

/**
 * A text with the characters that every PSP takes, of limited length. Other letters lose their accents, and what is
 * left becomes a space. May be empty.
 */
export function toShownText(text: string, lengthMax: number): string {
  const isPlain = isShown.test(text)
  const replaced = isPlain ? text : text.normalize('NFC').replace(notShown, toShownCharacter)
  return cut(replaced.replace(/ {2,}/g, ' ').trim(), lengthMax)
}

function toShownCharacter(character: string): string {
  const replacement = replacements[character]
  if (replacement !== undefined) return replacement
  // Without a flag, the pattern gives the halves of an emoji one at a time: each becomes a space.
  const plain = character.normalize('NFKD').replace(/\p{M}/gu, '')
  return plain !== '' && isShown.test(plain) ? plain : ' '
}

function cut(text: string, lengthMax: number): string {
  return text.length <= lengthMax ? text : `${text.slice(0, lengthMax - 3).trimEnd()}...`
}

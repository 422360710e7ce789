declare const brand: unique symbol

/** An amount in Brazilian cents: a safe integer, zero or more. Only {@link cents} creates one. */
export type Cents = number & { readonly [brand]: 'Cents' }

/** Checks that a number is a safe, non-negative integer of cents. Anything else is a bug in Guichê. */
export function cents(value: number): Cents {
  if (!Number.isSafeInteger(value) || value < 0) throw new RangeError('Not an amount in cents')
  return value as Cents
}

/** `1234` → `"12.34"`: the amount format of the Central Bank's API Pix (`\d{1,10}\.\d{2}`). */
export function toReais(amount: Cents): string {
  return `${Math.floor(amount / 100)}.${String(amount % 100).padStart(2, '0')}`
}

const reais = new Intl.NumberFormat('pt-BR', { style: 'currency', currency: 'BRL' })

/** `123456` → `R$ 1.234,56`, for display. */
export function inReais(amount: number): string {
  return reais.format(amount / 100).replace(/\s/g, ' ')
}

/** `"12.34"` → `1234`. Null for any other format, including a third decimal: incoming amounts are never rounded. */
export function fromReais(text: string): Cents | null {
  const match = /^(\d{1,10})\.(\d{2})$/.exec(text)
  return match ? cents(Number(match[1]) * 100 + Number(match[2])) : null
}

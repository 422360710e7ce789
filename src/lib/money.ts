declare const brand: unique symbol

/** An amount of money in Brazilian cents: a safe integer, zero or more. Made by {@link cents} only. */
export type Cents = number & { readonly [brand]: 'Cents' }

/** Checks that a number is a whole, non-negative, safe count of cents. Anything else is a bug of ours. */
export function cents(value: number): Cents {
  if (!Number.isSafeInteger(value) || value < 0) throw new RangeError('Not an amount in cents')
  return value as Cents
}

/** `1234` → `"12.34"`: how the Central Bank's API Pix writes an amount (`\d{1,10}\.\d{2}`). */
export function toReais(amount: Cents): string {
  return `${Math.floor(amount / 100)}.${String(amount % 100).padStart(2, '0')}`
}

const reais = new Intl.NumberFormat('pt-BR', { style: 'currency', currency: 'BRL' })

/** `123456` → `R$ 1.234,56`: for people. */
export function inReais(amount: number): string {
  return reais.format(amount / 100).replace(/\s/g, ' ')
}

/** `"12.34"` → `1234`. Returns null for any other form, a third decimal included: money is never rounded in. */
export function fromReais(text: string): Cents | null {
  const match = /^(\d{1,10})\.(\d{2})$/.exec(text)
  return match ? cents(Number(match[1]) * 100 + Number(match[2])) : null
}

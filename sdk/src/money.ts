/** Formats cents as people in Brazil read them: `formatBRL(123456)` is `R$ 1.234,56`. */
export function formatBRL(cents: number): string {
  if (!Number.isSafeInteger(cents)) throw new RangeError('An amount is an integer of cents.')
  const digits = String(Math.abs(cents)).padStart(3, '0')
  const whole = digits.slice(0, -2).replace(/\B(?=(\d{3})+$)/g, '.')
  return `${cents < 0 ? '-' : ''}R$ ${whole},${digits.slice(-2)}`
}

/**
 * Converts reais to cents: `toCents(25.9)` is 2590. Use it for amounts in reais: `19.99 * 100` is not 1999 in floating
 * point.
 *
 * @throws {RangeError} if the amount has fractions of a cent
 */
export function toCents(reais: number): number {
  const cents = Math.round(reais * 100)
  if (Number.isSafeInteger(cents) && Math.abs(reais * 100 - cents) < 1e-4) return cents
  throw new RangeError('An amount in reais has two decimals at most.')
}

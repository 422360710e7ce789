/** Cents as people in Brazil read them: `formatBRL(123456)` is `R$ 1.234,56`. */
export function formatBRL(cents: number): string {
  if (!Number.isSafeInteger(cents)) throw new RangeError('An amount is an integer of cents.')
  const digits = String(Math.abs(cents)).padStart(3, '0')
  const whole = digits.slice(0, -2).replace(/\B(?=(\d{3})+$)/g, '.')
  return `${cents < 0 ? '-' : ''}R$ ${whole},${digits.slice(-2)}`
}

/**
 * Reais to cents: `toCents(25.9)` is 2590. To be used where an amount comes as reais, since `19.99 * 100` is not 1999.
 *
 * @throws {RangeError} when there are fractions of a cent
 */
export function toCents(reais: number): number {
  const cents = Math.round(reais * 100)
  if (Number.isSafeInteger(cents) && Math.abs(reais * 100 - cents) < 1e-4) return cents
  throw new RangeError('An amount in reais has two decimals at most.')
}

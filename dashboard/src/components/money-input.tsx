import { NumberInput, type NumberInputProps } from '@mantine/core'
import { useLanguage } from '../text.ts'

/**
 * The user types reais. The value is in cents, as in the API, or null while the field is empty or the amount is too
 * large.
 */
export function MoneyInput({
  value,
  onChange,
  ...others
}: Omit<NumberInputProps, 'value' | 'onChange'> & { value: number | null; onChange: (cents: number | null) => void }) {
  const { language } = useLanguage()
  return (
    <NumberInput
      prefix="R$ "
      decimalScale={2}
      fixedDecimalScale
      allowNegative={false}
      hideControls
      decimalSeparator={language === 'pt' ? ',' : '.'}
      thousandSeparator={language === 'pt' ? '.' : ','}
      inputMode="decimal"
      {...others}
      value={value === null ? '' : value / 100}
      onChange={(reais) => onChange(toCents(reais))}
    />
  )
}

/** Mantine's input reports a string, not a number, for an amount with trailing zeros such as 10.50. */
function toCents(reais: number | string): number | null {
  const cents = reais === '' ? Number.NaN : Math.round(Number(reais) * 100)
  return Number.isSafeInteger(cents) ? cents : null
}

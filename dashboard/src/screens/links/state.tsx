import { Badge } from '@mantine/core'
import { useFormat } from '../../format.ts'
import { useText } from '../../text.ts'
import type { LinkResponse } from '../../types.ts'
import { words } from './text.ts'

const colors = { active: 'teal', disabled: 'gray', expired: 'gray', sold_out: 'orange' } as const

export function LinkState({ of: state }: { of: LinkResponse['state'] }) {
  const t = useText(words)
  return (
    <Badge variant="light" color={colors[state]} radius="sm" tt="none" fw={600} style={{ minWidth: 'max-content' }}>
      {t.states[state]}
    </Badge>
  )
}

/** What a link costs, in words. */
export function usePrice(): (link: LinkResponse) => string {
  const t = useText(words)
  const { money } = useFormat()
  return ({ amount, amountMin: min, amountMax: max }) => {
    if (amount !== null) return money(amount)
    if (max === null) return min === null ? t.open : t.from(money(min))
    return min === null ? t.upTo(money(max)) : t.between(money(min), money(max))
  }
}

import { Button, Collapse, Group, SimpleGrid } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import type { ReactNode } from 'react'
import { texts, useText } from '../text.ts'
import { IconOf } from './icons.tsx'

const words = texts({
  en: { more: 'Filters', clear: 'Clear filters' },
  pt: { more: 'Filtros', clear: 'Limpar filtros' },
})

/** Filters of a list: the common ones are always visible, the others behind a button. */
export function FilterBar({
  common,
  more,
  count,
  onClear,
}: {
  common: ReactNode
  more?: ReactNode
  /** How many filters are set. */
  count: number
  onClear: () => void
}) {
  const t = useText(words)
  const [isOpen, { toggle }] = useDisclosure(false)
  return (
    <div>
      <Group align="flex-end" gap="sm">
        {common}
        {more && (
          <Button
            variant="default"
            leftSection={<IconOf name="filter" size={16} />}
            onClick={toggle}
            aria-expanded={isOpen}
          >
            {t.more}
            {count > 0 ? ` (${count})` : ''}
          </Button>
        )}
        {count > 0 && (
          <Button variant="subtle" color="gray" onClick={onClear}>
            {t.clear}
          </Button>
        )}
      </Group>
      {more && (
        <Collapse expanded={isOpen}>
          <SimpleGrid cols={{ base: 1, xs: 2, md: 4 }} spacing="sm" mt="sm">
            {more}
          </SimpleGrid>
        </Collapse>
      )}
    </div>
  )
}

import { Button, Group, Popover, Stack, TextInput } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useFilters } from '../filters.ts'
import { useFormat } from '../format.ts'
import { periodOf, periods } from '../periods.ts'
import { texts, useText } from '../text.ts'
import { IconOf } from './icons.tsx'

const words = texts({
  en: {
    label: 'Period',
    any: 'Any time',
    today: 'Today',
    yesterday: 'Yesterday',
    last7: 'Last 7 days',
    last30: 'Last 30 days',
    month: 'This month',
    lastMonth: 'Last month',
    from: 'From',
    until: 'Until',
    since: (day: string) => `since ${day}`,
    to: (day: string) => `until ${day}`,
  },
  pt: {
    label: 'Período',
    any: 'Qualquer data',
    today: 'Hoje',
    yesterday: 'Ontem',
    last7: 'Últimos 7 dias',
    last30: 'Últimos 30 dias',
    month: 'Este mês',
    lastMonth: 'Mês passado',
    from: 'De',
    until: 'Até',
    since: (day: string) => `desde ${day}`,
    to: (day: string) => `até ${day}`,
  },
})

/** The period of a list, in days of Brasília. It is in the address: a preset by its name, otherwise two days. */
export function DateRange() {
  const t = useText(words)
  const format = useFormat()
  const filters = useFilters()
  const [isOpen, { toggle, close }] = useDisclosure(false)
  const { from, until, preset } = periodOf(filters)
  const shown =
    preset !== null
      ? t[preset]
      : from && until
        ? `${format.day(from)} – ${format.day(until)}`
        : from
          ? t.since(format.day(from))
          : until
            ? t.to(format.day(until))
            : t.any
  return (
    <Popover opened={isOpen} onChange={close} position="bottom-start" shadow="md" trapFocus withRoles={false}>
      <Popover.Target>
        <Button
          variant="default"
          onClick={toggle}
          leftSection={<IconOf name="month" size={16} />}
          aria-expanded={isOpen}
          aria-label={`${t.label}: ${shown}`}
        >
          {shown}
        </Button>
      </Popover.Target>
      <Popover.Dropdown role="dialog" aria-label={t.label}>
        <Stack gap={4} w={260}>
          {[null, ...periods].map((one) => (
            <Button
              key={one ?? 'any'}
              variant={one === preset && (one !== null || (!from && !until)) ? 'light' : 'subtle'}
              color={one === preset ? 'brand' : 'gray'}
              c="var(--mantine-color-text)"
              size="xs"
              justify="flex-start"
              onClick={() => {
                filters.set({ period: one ?? '', from: '', until: '' })
                close()
              }}
            >
              {one === null ? t.any : t[one]}
            </Button>
          ))}
          <Group gap={8} grow mt={6}>
            {(['from', 'until'] as const).map((name) => (
              <TextInput
                key={name}
                type="date"
                size="xs"
                label={t[name]}
                value={(name === 'from' ? from : until) ?? ''}
                onChange={(event) =>
                  filters.set({ from: from ?? '', until: until ?? '', period: '', [name]: event.currentTarget.value })
                }
              />
            ))}
          </Group>
        </Stack>
      </Popover.Dropdown>
    </Popover>
  )
}

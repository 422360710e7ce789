import { Button, Group, Popover, Stack } from '@mantine/core'
import { useDisclosure, useMediaQuery } from '@mantine/hooks'
import { useState } from 'react'
import { useFilters } from '../filters.ts'
import { useFormat } from '../format.ts'
import { periodOf, periods } from '../periods.ts'
import { texts, useText } from '../text.ts'
import { Calendar } from './calendar.tsx'
import { DayInput } from './day-input.tsx'
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

/**
 * The period of a list, in days of Brasília. It is in the address: a preset by its name, otherwise its first day, its
 * last day, or both.
 */
export function DateRange() {
  const t = useText(words)
  const format = useFormat()
  const [isOpen, { toggle, close }] = useDisclosure(false)
  const { from, until, preset } = periodOf(useFilters())
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
    <Popover
      opened={isOpen}
      onChange={close}
      position="bottom-start"
      shadow="md"
      trapFocus
      returnFocus
      withRoles={false}
    >
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
        <div className="period">
          <Presets onChosen={close} />
          <CustomDays onChosen={close} />
        </div>
      </Popover.Dropdown>
    </Popover>
  )
}

function Presets({ onChosen }: { onChosen: () => void }) {
  const t = useText(words)
  const filters = useFilters()
  const { from, until, preset } = periodOf(filters)
  return (
    <div className="period-presets">
      {[null, ...periods].map((one) => {
        const isChosen = one === preset && (one !== null || (!from && !until))
        return (
          <Button
            key={one ?? 'any'}
            aria-pressed={isChosen}
            variant={isChosen ? 'light' : 'subtle'}
            color={one === preset ? 'brand' : 'gray'}
            c="var(--mantine-color-text)"
            size="xs"
            justify="flex-start"
            onClick={() => {
              filters.set({ period: one ?? '', from: '', until: '' })
              onChosen()
            }}
          >
            {one === null ? t.any : t[one]}
          </Button>
        )
      })}
    </div>
  )
}

/** The first and last day: typed (one is enough), or both chosen in the calendar one after the other. */
function CustomDays({ onChosen }: { onChosen: () => void }) {
  const t = useText(words)
  const filters = useFilters()
  const isWide = useMediaQuery('(min-width: 62em)', undefined, { getInitialValueInEffect: false })
  const [start, setStart] = useState<string | null>(null)
  const { from = '', until = '' } = periodOf(filters)
  const days = start === null ? { from, until } : { from: start, until: '' }
  const choose = (day: string) => {
    if (start === null) return setStart(day)
    filters.set({ period: '', from: start < day ? start : day, until: start < day ? day : start })
    onChosen()
  }
  return (
    <Stack gap="sm">
      <Group gap={8} grow>
        {(['from', 'until'] as const).map((name) => (
          <DayInput
            key={name}
            size="xs"
            label={t[name]}
            value={days[name]}
            hasCalendar={false}
            onChange={(day) => {
              const next = { ...days, [name]: day }
              const isReversed = next.from !== '' && next.until !== '' && next.from > next.until
              // The typed day would reverse the period: clear the other day, which is typed next.
              filters.set({ ...next, period: '', ...(isReversed && { [name === 'from' ? 'until' : 'from']: '' }) })
              setStart(null)
            }}
          />
        ))}
      </Group>
      <Calendar key={isWide ? 2 : 1} months={isWide ? 2 : 1} {...days} onChoose={choose} />
    </Stack>
  )
}

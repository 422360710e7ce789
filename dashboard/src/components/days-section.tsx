import { SegmentedControl } from '@mantine/core'
import type { ReactNode } from 'react'
import { texts, useText } from '../text.ts'
import { Section } from './page.tsx'

const words = texts({
  en: { lastDays: (days: string) => `${days} days` },
  pt: { lastDays: (days: string) => `${days} dias` },
})

/** A part of a screen about the last days, with a choice of how many. */
export function DaysSection({
  title,
  choices,
  days,
  onChoose,
  children,
}: {
  title: string
  choices: string[]
  days: string
  onChoose: (days: string) => void
  children: ReactNode
}) {
  const t = useText(words)
  return (
    <Section
      title={title}
      aside={
        <SegmentedControl
          size="xs"
          value={days}
          onChange={onChoose}
          aria-label={title}
          data={choices.map((value) => ({ value, label: t.lastDays(value) }))}
        />
      }
    >
      {children}
    </Section>
  )
}

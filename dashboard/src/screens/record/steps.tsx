import { Badge, Button, Group, Text, Timeline } from '@mantine/core'
import { useState } from 'react'
import { Status } from '../../components/status.tsx'
import { useFormat } from '../../format.ts'
import { writeReason } from '../../reason-texts.ts'
import { useLanguage, useText } from '../../text.ts'
import type { ExplainedRecord } from '../../types.ts'
import { words } from './text.ts'
import { writeEntry } from './timeline.ts'

type Entry = ExplainedRecord['timeline'][number]
/** One entry, or equal consecutive requests to the PSP as one. */
type Step = { entry: Entry; count: number; lastAt: string }

const colors: Partial<Record<Entry['kind'], string>> = {
  status: 'brand',
  ledger: 'blue',
  delivery: 'grape',
  callback: 'orange',
  acquirer: 'gray',
  dispute: 'red',
  refund: 'yellow',
}

/** The steps that matter to a merchant, such as requested, paid, refunded and notified. A button shows the rest. */
export function RecordSteps({ record: { timeline } }: { record: ExplainedRecord }) {
  const t = useText(words)
  const [showsAll, setShowsAll] = useState(false)
  const milestones = timeline.filter((entry, index) => isMilestone(entry, index, timeline))
  const hidden = timeline.length - milestones.length
  const steps = group(showsAll ? timeline : milestones)
  return (
    <>
      <Timeline bulletSize={12} lineWidth={2}>
        {steps.map((step, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the items have no state of their own
          <Timeline.Item key={index} bullet={<span />} color={colors[step.entry.kind] ?? 'gray'}>
            <StepText step={step} before={steps[index - 1]} />
          </Timeline.Item>
        ))}
      </Timeline>
      {hidden > 0 && (
        <Button
          variant="subtle"
          size="compact-sm"
          mt="sm"
          aria-expanded={showsAll}
          onClick={() => setShowsAll(!showsAll)}
        >
          {showsAll ? t.fewerSteps : t.allSteps(hidden)}
        </Button>
      )}
    </>
  )
}

function StepText({ step: { entry, count, lastAt }, before }: { step: Step; before: Step | undefined }) {
  const t = useText(words)
  const format = useFormat()
  const { at, kind } = entry
  const pause = before ? new Date(at).getTime() - new Date(before.lastAt).getTime() : 0
  return (
    <>
      <Group gap={8} mb={2}>
        <Badge size="xs" variant="light" color={colors[kind] ?? 'gray'} tt="none" radius="sm">
          {t.kinds[kind]}
        </Badge>
        <Text size="xs" c="dimmed">
          {format.dateTime(at)}
          {pause >= 1000 ? ` · ${t.after(format.duration(pause))}` : ''}
        </Text>
      </Group>
      <EntryText entry={entry} />
      {count > 1 && (
        <Text size="xs" c="dimmed">
          {t.repeated(format.number(count), format.dateTime(lastAt))}
        </Text>
      )}
    </>
  )
}

function EntryText({ entry }: { entry: Entry }) {
  const format = useFormat()
  const { language } = useLanguage()
  if (entry.kind === 'status') {
    const { status, reason } = entry.data
    return (
      <Group gap={8}>
        <Status of={status} />
        {reason !== null && <Text size="sm">{writeReason(reason, language)}</Text>}
      </Group>
    )
  }
  return (
    <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
      {writeEntry(entry, language, format)}
    </Text>
  )
}

function isMilestone(entry: Entry, index: number, timeline: Entry[]): boolean {
  switch (entry.kind) {
    case 'callback':
    case 'acquirer':
    case 'ledger':
      return false
    case 'status':
      // The entry of the kind `request` says the same.
      return entry.data.status !== 'PENDING' || entry.data.reason !== null
    case 'delivery':
      return !timeline.slice(index + 1).some(({ kind }) => kind === 'delivery')
    default:
      return true
  }
}

function group(timeline: Entry[]): Step[] {
  const steps: Step[] = []
  for (const entry of timeline) {
    const last = steps.at(-1)
    if (last && isSameRequest(last.entry, entry)) Object.assign(last, { count: last.count + 1, lastAt: entry.at })
    else steps.push({ entry, count: 1, lastAt: entry.at })
  }
  return steps
}

function isSameRequest(one: Entry, other: Entry): boolean {
  if (one.kind !== 'acquirer' || other.kind !== 'acquirer') return false
  const { durationMs: _, ...left } = one.data
  const { durationMs: __, ...right } = other.data
  return JSON.stringify(left) === JSON.stringify(right)
}

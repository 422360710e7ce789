import { Text } from '@mantine/core'
import { useEffect, useState } from 'react'
import { type Format, useFormat } from '../../format.ts'
import { useText } from '../../text.ts'
import type { ListedDispute } from '../../types.ts'
import { words } from './text.ts'

const dayMs = 24 * 60 * 60_000

/**
 * The time left to answer or to decide, and after an acceptance to return the money; of a closed dispute, when it ended.
 * Red on the last day and after it.
 */
export function Deadline({ dispute, aheadMs }: { dispute: ListedDispute; aheadMs: number }) {
  const t = useText(words)
  const format = useFormat()
  const now = useNow() + aheadMs
  const { state, analysisEndsAt, endsAt, finishedAt } = dispute
  if (finishedAt !== null) {
    return (
      <Text size="sm" component="span" title={t.endedOn(format.dateTime(finishedAt))} style={{ whiteSpace: 'nowrap' }}>
        {format.date(finishedAt)}
      </Text>
    )
  }
  const end = state === 'open' ? analysisEndsAt : endsAt
  const leftMs = Date.parse(end) - now
  const isOpen = state === 'open'
  const left = writeTime(Math.abs(leftMs), format)
  return (
    <Text
      size="sm"
      fw={600}
      component="span"
      title={t.until(format.dateTime(end))}
      style={{ whiteSpace: 'nowrap' }}
      {...(leftMs < dayMs && { c: 'var(--mantine-color-error)' })}
    >
      {leftMs <= 0 ? t.overdue(left) : isOpen ? t.left(left) : t.returnLeft(left)}
    </Text>
  )
}

/** To the minute, and at least one. */
function writeTime(ms: number, { duration }: Format): string {
  return duration(Math.max(60_000, Math.floor(ms / 60_000) * 60_000)).replace(/ 0 \w+$/, '')
}

function useNow(): number {
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 15_000)
    return () => clearInterval(timer)
  }, [])
  return now
}

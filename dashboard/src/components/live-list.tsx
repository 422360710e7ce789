import { Button } from '@mantine/core'
import { useEffect, useRef, useState } from 'react'
import { actingMerchant } from '../api.ts'
import { useListKey } from '../filters.ts'
import { useFormat } from '../format.ts'
import { onChanged } from '../live.ts'
import { pauseList } from '../live-refresh.ts'
import { texts, useText } from '../text.ts'
import type { ChangeKind } from '../types.ts'

const words = texts({
  en: {
    paid: (count: number, text: string) => (count === 1 ? '1 new payment' : `${text} new payments`),
    changed: (count: number, text: string) => (count === 1 ? '1 change' : `${text} changes`),
  },
  pt: {
    paid: (count: number, text: string) => (count === 1 ? '1 pagamento novo' : `${text} pagamentos novos`),
    changed: (count: number, text: string) => (count === 1 ? '1 atualização' : `${text} atualizações`),
  },
})

/** In pixels. A list that is scrolled further, beyond its first rows, is being read. */
const scrolledMin = 200

/** What a list follows: the first part of its queries' keys, and the changes that it shows. */
export type LiveList = { root: string; kind: ChangeKind }

const none = { paid: 0, others: 0 }

/**
 * Announces changes of a list that somebody reads further down or on another page: its rows do not move until the
 * reader clicks. A list at the top of its first page changes at once.
 */
export function LivePill({
  of: { root, kind },
  page,
  onLoad,
}: {
  of: LiveList
  page: number
  /** Goes to the first page and reads it again. */
  onLoad: () => void
}) {
  const t = useText(words)
  const format = useFormat()
  const [news, setNews] = useState(none)
  const isReading = useIsScrolled() || page > 1
  useEffect(() => (isReading ? pauseList(root) : undefined), [isReading, root])
  useEffect(() => {
    if (!isReading) return
    return onChanged(({ changes }) => {
      const shown = actingMerchant()
      const seen = changes.filter(
        ({ kind: one, clientId }) => one === kind && (shown === null || clientId === null || clientId === shown),
      )
      const sum = (all: typeof seen) => all.reduce((total, { count }) => total + count, 0)
      const paid = sum(seen.filter(({ status }) => status === 'PAID'))
      if (seen.length > 0) setNews((before) => ({ paid: before.paid + paid, others: before.others + sum(seen) - paid }))
    })
  }, [isReading, kind])
  const load = () => {
    setNews(none)
    scrollTo({ top: 0 })
    onLoad()
  }
  const hasNews = news.paid + news.others > 0
  // Whoever goes back to the top gets the new rows without a click.
  if (!isReading && hasNews) setNews(none)
  return (
    <div role="status" className="pill-place">
      {isReading && hasNews && (
        <Button size="compact-sm" radius="xl" onClick={load}>
          {news.paid > 0
            ? t.paid(news.paid, format.number(news.paid))
            : t.changed(news.others, format.number(news.others))}
        </Button>
      )}
    </div>
  )
}

function useIsScrolled(): boolean {
  const [isScrolled, setScrolled] = useState(() => scrollY > scrolledMin)
  useEffect(() => {
    const watch = () => setScrolled(scrollY > scrolledMin)
    addEventListener('scroll', watch, { passive: true })
    return () => removeEventListener('scroll', watch)
  }, [])
  return isScrolled
}

/**
 * The keys of the rows that are new or have changed since the list was last shown. Nothing has changed when another
 * page or filter was chosen: that is another list, even if it shares rows with the one before.
 */
export function useChangedRows<Row>(rows: readonly Row[] | undefined, keyOf: (row: Row) => string): Set<string> {
  const list = useListKey()
  const last = useRef({
    list: '',
    rows: undefined as readonly Row[] | undefined,
    texts: new Map<string, string>(),
    changed: new Set<string>(),
  })
  if (rows !== last.current.rows) {
    const before = last.current.texts
    const now = new Map((rows ?? []).map((row) => [keyOf(row), JSON.stringify(row)]))
    const isSameList = last.current.list === list && before.size > 0
    const changed = isSameList ? [...now].filter(([key, text]) => before.get(key) !== text).map(([key]) => key) : []
    last.current = { list, rows, texts: now, changed: new Set(changed) }
  }
  return last.current.changed
}

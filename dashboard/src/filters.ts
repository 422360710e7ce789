import { useEffect, useSyncExternalStore } from 'react'
import { useLocation, useSearchParams } from 'wouter'

/**
 * Filters with personal data. They are never in the address, which stays in the browser's history and is shared.
 * They are lost when the page is reloaded.
 */
const personalNames = new Set(['customerName', 'customerDocument', 'customerEmail', 'customerPhone', 'pixKey'])

/** What the address also has for other parts of the screen: the merchant, and the day of the balances. */
const ofScreen = ['client', 'at']
/** What a list's address also has. */
const notFilters = new Set([...ofScreen, 'page', 'after', 'before', 'sort'])

const nothing: Readonly<Record<string, string>> = {}
let personal: Readonly<Record<string, Readonly<Record<string, string>>>> = {}
const listeners = new Set<() => void>()

function setPersonal(next: typeof personal): void {
  personal = next
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Called when the user changes or signs out: the next user of the browser must not see these filters. */
export function forgetPersonalFilters(): void {
  setPersonal({})
}

/** What tells a list apart from the same one with other filters, in another order or on another page. */
export function useListKey(): string {
  const [query] = useSearchParams()
  const [path] = useLocation()
  const own = useSyncExternalStore(subscribe, () => personal[listOf(path, query.get('client'))]) ?? nothing
  return `${path} ${query} ${JSON.stringify(own)}`
}

const listOf = (path: string, client: string | null) => `${path} ${client}`

/**
 * Sets the personal filters of a list that is about to be opened at an address with filters of its own: what was typed
 * there earlier would hide most of what the address finds.
 */
export function presetPersonalFilters(address: string, filters: Record<string, string> = nothing): void {
  const [path = '', query] = address.split('?')
  setPersonal({ ...personal, [listOf(path, new URLSearchParams(query).get('client'))]: filters })
}

/**
 * The filters and the page of a list. They are kept in the address, so that it can be bookmarked and shared.
 * Personal filters are kept in memory.
 */
export function useFilters() {
  const [query, setQuery] = useSearchParams()
  const [path] = useLocation()
  const list = listOf(path, query.get('client'))
  const own = useSyncExternalStore(subscribe, () => personal[list]) ?? nothing
  return {
    get: (name: string) => (personalNames.has(name) ? own[name] : query.get(name)) ?? '',
    all: (name: string) => query.getAll(name),
    page: Math.max(1, Number(query.get('page')) || 1),
    /** Sets the named filters and goes to the first page. An empty text removes a filter. */
    set: (changes: Record<string, string | string[]>) => {
      const kept = Object.entries({ ...own, ...changes }).filter(
        (entry): entry is [string, string] =>
          personalNames.has(entry[0]) && typeof entry[1] === 'string' && entry[1] !== '',
      )
      setPersonal({ ...personal, [list]: Object.fromEntries(kept) })
      setQuery((before) => {
        const next = new URLSearchParams(before)
        for (const place of ['page', 'after', 'before']) next.delete(place)
        for (const [name, value] of Object.entries(changes)) {
          if (personalNames.has(name)) continue
          next.delete(name)
          for (const one of [value].flat()) if (one !== '') next.append(name, one)
        }
        return next
      })
    },
    /** Removes all filters of the list, its sort and its page. */
    clear: () => {
      setPersonal({ ...personal, [list]: nothing })
      setQuery((before) => new URLSearchParams([...before].filter(([name]) => ofScreen.includes(name))))
    },
    /** Goes to the page after or before a cursor, or to the first one. */
    moveTo: (to: { after: string } | { before: string } | Record<string, never>, options?: { replace: boolean }) =>
      setQuery((before) => {
        const next = new URLSearchParams(before)
        for (const place of ['after', 'before']) next.delete(place)
        for (const [name, value] of Object.entries(to)) next.set(name, value)
        return next
      }, options),
    goTo: (page: number, options?: { replace: boolean }) =>
      setQuery((before) => {
        const next = new URLSearchParams(before)
        if (page === 1) next.delete('page')
        else next.set('page', String(page))
        return next
      }, options),
    count: [...new Set(query.keys())].filter((name) => !notFilters.has(name)).length + Object.keys(own).length,
  }
}

/**
 * Goes to the last page of a list if the address has a later one, such as after its last row was decided. Returns
 * whether it does: the rows of this page are none, but those of the list are not.
 */
export function useExistingPage(
  list: { totalPages: number; data: readonly unknown[] } | undefined,
  { page, goTo }: Pick<ReturnType<typeof useFilters>, 'page' | 'goTo'>,
): boolean {
  const last = list?.totalPages ?? 0
  // Rows of another page, which are shown until those of this one are loaded, say nothing about this one.
  const isPastEnd = list?.data.length === 0 && last > 0 && page > last
  useEffect(() => {
    if (isPastEnd) goTo(last, { replace: true })
  })
  return isPastEnd
}

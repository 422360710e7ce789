import { useSearchParams } from 'wouter'

/** Filters and page of a list as they stand in the address, so that it can be kept and passed on. */
export function useFilters() {
  const [query, setQuery] = useSearchParams()
  return {
    get: (name: string) => query.get(name) ?? '',
    all: (name: string) => query.getAll(name),
    page: Math.max(1, Number(query.get('page')) || 1),
    /** Sets what is named, an empty text for none, and begins at the first page again. */
    set: (changes: Record<string, string | string[]>) =>
      setQuery((before) => {
        const next = new URLSearchParams(before)
        next.delete('page')
        for (const [name, value] of Object.entries(changes)) {
          next.delete(name)
          for (const one of [value].flat()) if (one !== '') next.append(name, one)
        }
        return next
      }),
    /** But for the merchant. */
    clear: () =>
      setQuery((before) => {
        const client = before.get('client')
        return new URLSearchParams(client === null ? {} : { client })
      }),
    goTo: (page: number) =>
      setQuery((before) => {
        const next = new URLSearchParams(before)
        if (page === 1) next.delete('page')
        else next.set('page', String(page))
        return next
      }),
    count: [...new Set(query.keys())].filter((name) => name !== 'client' && name !== 'page').length,
  }
}

/** The first moment of a day in Brazil (yyyy-mm-dd), which has had no summer time since 2019. */
export function dayStart(day: string): string | undefined {
  return day === '' ? undefined : `${day}T00:00:00.000-03:00`
}

export function dayEnd(day: string): string | undefined {
  return day === '' ? undefined : `${day}T23:59:59.999-03:00`
}

/** The longest wait that another server can request. */
const retryAfterMaxMs = 24 * 60 * 60_000

/**
 * Reads `Retry-After`, in seconds or as an HTTP date, as milliseconds from `now`, capped at a day. Null when absent,
 * unreadable, zero or in the past.
 */
export function readRetryAfter(header: string | undefined, now: Date): number | null {
  const text = header?.trim() ?? ''
  const waitMs = /^\d{1,15}$/.test(text) ? Number(text) * 1000 : parseHttpDate(text) - now.getTime()
  return waitMs > 0 ? Math.min(waitMs, retryAfterMaxMs) : null
}

/**
 * An HTTP date begins with the day's name: `Date.parse` alone would also read "-5" and "1.5". The oldest of its three
 * forms ends in the year and names no time zone; all three are in UTC.
 */
function parseHttpDate(text: string): number {
  if (!/^(?:mon|tue|wed|thu|fri|sat|sun)/i.test(text)) return Number.NaN
  return Date.parse(/ \d{4}$/.test(text) ? `${text} GMT` : text)
}

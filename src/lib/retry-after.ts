/** The longest wait that another server can request. */
const retryAfterMaxMs = 24 * 60 * 60_000

/**
 * Reads `Retry-After`, in seconds or as an HTTP date, as milliseconds from `now`, capped at a day. Null when absent,
 * unreadable or in the past.
 */
export function readRetryAfter(header: string | undefined, now: Date): number | null {
  const text = header?.trim() ?? ''
  const waitMs = /^\d{1,15}$/.test(text) ? Number(text) * 1000 : parseHttpDate(text) - now.getTime()
  return waitMs > 0 ? Math.min(waitMs, retryAfterMaxMs) : null
}

/** An HTTP date begins with the day's name. `Date.parse` alone would also read "-5" and "1.5". */
function parseHttpDate(text: string): number {
  return /^(?:mon|tue|wed|thu|fri|sat|sun)/i.test(text) ? Date.parse(text) : Number.NaN
}

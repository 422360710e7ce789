/** A provider's published data changes a few times a year. */
const freshMs = 10 * 60_000
/** While a value is cached, no caller can make us read more often than this. Counted from the end of a read. */
const pauseMs = 5_000
/** As long as any token lives: after that, tokens signed with an old key have expired anyway. */
const staleMaxMs = 24 * 60 * 60_000

export type RefreshingCache<Value> = {
  /** The cached value, read again when it is older than ten minutes. */
  get(): Promise<Value>
  /** Reads again, unless a value is cached and the last read ended within the pause. */
  renew(): Promise<Value>
}

/**
 * Caches a value that is read from elsewhere. If it cannot be read, the cached value is used for up to a day, so that
 * an outage of the provider refuses nobody who has a token. While a read takes long, only the caller of `get` that
 * began it waits; the others get the cached value.
 */
export function createRefreshingCache<Value>(read: () => Promise<Value>): RefreshingCache<Value> {
  let known: { value: Value; readAt: number } | null = null
  let reading: Promise<Value> | null = null
  let triedAt = Number.NEGATIVE_INFINITY

  const knownWithin = (ageMaxMs: number) => (known && performance.now() - known.readAt < ageMaxMs ? known : null)

  async function readOnce(): Promise<Value> {
    reading ??= read()
      .then((value) => {
        known = { value, readAt: performance.now() }
        return value
      })
      .finally(() => {
        reading = null
        triedAt = performance.now()
      })
    return await reading
  }

  async function renew(): Promise<Value> {
    const usable = knownWithin(staleMaxMs)
    if (usable && !reading && performance.now() - triedAt < pauseMs) return usable.value
    try {
      return await readOnce()
    } catch (error) {
      if (usable) return usable.value
      throw error
    }
  }

  return {
    renew,
    async get() {
      const usable = knownWithin(freshMs) ?? (reading ? knownWithin(staleMaxMs) : null)
      return usable ? usable.value : await renew()
    },
  }
}

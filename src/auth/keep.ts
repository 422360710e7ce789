/** What a provider publishes changes a few times a year. */
const freshMs = 10 * 60_000
/** Nobody can make us ask more often than this, by whatever they send. Counted from the end of a reading. */
const pauseMs = 5_000
/** As long as any token lives: past it nothing that was signed with an old key is good anyway. */
const staleMaxMs = 24 * 60 * 60_000

export type Kept<Value> = {
  /** What is known, read again when it is older than ten minutes. */
  get(): Promise<Value>
  /** Reads again, unless that was done within the pause. */
  renew(): Promise<Value>
}

/**
 * A value that is read elsewhere and kept. When it cannot be read, what was known goes on being used for a day: a provider that is
 * down refuses nobody who has a token. While it does not answer, one asker waits for it and the others do not.
 */
export function keep<Value>(read: () => Promise<Value>): Kept<Value> {
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

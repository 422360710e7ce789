/** The maximum age of a cached value after another process changed it. */
const staleMs = 1000

/** A value that all processes on the database share, that each payment reads, and that hardly ever changes. */
export type Shared<Value> = {
  current(): Promise<Value>
  /** Sets a value that this process changed. Others see it within {@link staleMs}. */
  set(value: Value): void
}

export function openShared<Value>(read: () => Promise<Value>): Shared<Value> {
  let known: { value: Promise<Value>; readAt: number } | null = null

  function keep(value: Promise<Value>): Promise<Value> {
    const kept = { value, readAt: performance.now() }
    known = kept
    // The next read tries again.
    value.catch(() => {
      if (known === kept) known = null
    })
    return value
  }

  return {
    async current() {
      if (known === null || performance.now() - known.readAt > staleMs) return await keep(read())
      return await known.value
    },
    set(value) {
      void keep(Promise.resolve(value))
    },
  }
}

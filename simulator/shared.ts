/** So old may be what is known of a change that another process made. */
const staleMs = 1000

/** What all processes on the database share, is asked for with each payment, and hardly ever changes. */
export type Shared<Value> = {
  current(): Promise<Value>
  /** It was changed, here: other processes know it within {@link staleMs}. */
  set(value: Value): void
}

export function openShared<Value>(read: () => Promise<Value>): Shared<Value> {
  let known: { value: Promise<Value>; readAt: number } | null = null

  function keep(value: Promise<Value>): Promise<Value> {
    const kept = { value, readAt: performance.now() }
    known = kept
    // Who asks next tries again.
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

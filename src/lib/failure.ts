export type Failure = {
  /** Rejects the work that is awaited now, and all work that is awaited later. */
  fail(error: Error): void
  /** Resolves or rejects as the work does; rejects with the failure if that happens first. */
  before<Result>(work: Promise<Result>): Promise<Result>
}

/**
 * A failure that may happen at any time and ends work in progress, for example the loss of a connection. Unlike
 * `Promise.race` with one promise that rejects at the failure, it keeps nothing of work that has ended: such a promise
 * would keep a reaction of each race until it settles.
 */
export function createFailure(): Failure {
  let failure: Error | null = null
  const waiting = new Set<(error: Error) => void>()
  return {
    fail(error) {
      failure ??= error
      for (const reject of waiting) reject(failure)
    },
    async before(work) {
      let reject = (_: Error) => {}
      const failed = new Promise<never>((_, no) => {
        reject = no
      })
      if (failure !== null) reject(failure)
      waiting.add(reject)
      try {
        return await Promise.race([work, failed])
      } finally {
        waiting.delete(reject)
      }
    },
  }
}

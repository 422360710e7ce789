/** A promise of our own that was broken: a bug, never a caller's mistake. */
export class BrokenInvariant extends Error {
  constructor(message: string) {
    super(`Broken invariant: ${message}`)
    this.name = 'BrokenInvariant'
  }
}

/** Stops on a broken promise of our own. */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new BrokenInvariant(message)
}

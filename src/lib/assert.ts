/** A bug in Guichê, never a caller's mistake. */
export class BrokenInvariant extends Error {
  constructor(message: string) {
    super(`Broken invariant: ${message}`)
    this.name = 'BrokenInvariant'
  }
}

/** Throws {@link BrokenInvariant} if the condition does not hold. */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new BrokenInvariant(message)
}

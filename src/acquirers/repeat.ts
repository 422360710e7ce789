/** For so long a request may be under way at an acquirer after its answer was given up. */
const underWayMs = 10 * 60_000

/**
 * Whether money that an acquirer was asked to send may leave yet, though it now refuses the same under the same id and knows of nothing: some
 * carry out what they took before only minutes later. `askedAt`: when it was asked the last time but this; null where it never was.
 */
export function mayBeUnderWay(askedAt: Date | null, now: Date): boolean {
  return askedAt !== null && now.getTime() - askedAt.getTime() < underWayMs
}

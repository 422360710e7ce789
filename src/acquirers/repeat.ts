/** For so long a request may be under way at an acquirer after its answer was given up. */
const underWayMs = 10 * 60_000

/**
 * Whether money that an acquirer was asked to send may leave yet, though it now refuses the same under the same id and knows of nothing: some
 * carry out what they took before only minutes later. `askedAt`: when it was asked the last time but this; null where it never was.
 */
export function mayBeUnderWay(askedAt: Date | null, now: Date): boolean {
  return askedAt !== null && now.getTime() - askedAt.getTime() < underWayMs
}

/**
 * The moment that a request for money is dated at. It is also the request's name, so it is later than that of the last one whatever the clock
 * says: a refusal is final only if nobody asked again while it was on its way.
 */
export function nextAskedAt(last: Date | null, now: Date): Date {
  return last === null || last < now ? now : new Date(last.getTime() + 1)
}

export function isSameRequest(one: Date | null, other: Date | null): boolean {
  return one?.getTime() === other?.getTime()
}

/** How long an acquirer may still carry out a request after we stopped waiting for its answer. */
const underWayMs = 10 * 60_000

/**
 * Whether an earlier request to send money may still be carried out, although the acquirer now refuses the same id and
 * finds nothing under it: some acquirers carry out an accepted request only minutes later. `askedAt`: the time of the
 * request before this one; null where there was none.
 */
export function mayBeUnderWay(askedAt: Date | null, now: Date): boolean {
  return askedAt !== null && now.getTime() - askedAt.getTime() < underWayMs
}

/**
 * The time of a request to send money. It also identifies the request, so it is always later than that of the request
 * before, whatever the clock says: a refusal is final only if no other request was sent while it was on its way.
 */
export function nextAskedAt(last: Date | null, now: Date): Date {
  return last === null || last < now ? now : new Date(last.getTime() + 1)
}

export function isSameRequest(one: Date | null, other: Date | null): boolean {
  return one?.getTime() === other?.getTime()
}

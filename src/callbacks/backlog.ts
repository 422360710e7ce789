/** The maximum of open notices of one acquirer: those of nearly a minute at 2,000 a second. */
export const openNoticesMax = 100_000
/** While there are too many, they are counted again no sooner than this. */
const countAgainMs = 1_000

type Backlog = { atMost: number; countedAt: number; counting: Promise<void> | null }

/**
 * Limits what is stored for an acquirer that notifies faster than its notices can be processed, or for an attacker
 * who learned the callback address and invents notices. The acquirer repeats a refused callback, and the poller finds
 * payments as well. The limit counts what it accepts, and queries the database only when that may be too many. Each process
 * counts for itself, so several together may exceed the limit.
 */
export function createBacklogLimit(
  countOpen: (acquirer: string, limit: number) => Promise<number>,
  max = openNoticesMax,
): (acquirer: string, notices: number) => Promise<boolean> {
  const backlogs = new Map<string, Backlog>()
  return async (acquirer, notices) => {
    const backlog = backlogs.get(acquirer) ?? { atMost: max, countedAt: Number.NEGATIVE_INFINITY, counting: null }
    backlogs.set(acquirer, backlog)
    if (backlog.atMost + notices > max && performance.now() - backlog.countedAt >= countAgainMs) {
      backlog.counting ??= count(acquirer, backlog)
      await backlog.counting
    }
    if (backlog.atMost + notices > max) return false
    backlog.atMost += notices
    return true
  }

  async function count(acquirer: string, backlog: Backlog): Promise<void> {
    try {
      backlog.atMost = await countOpen(acquirer, max)
      backlog.countedAt = performance.now()
    } finally {
      backlog.counting = null
    }
  }
}

/** Notices of one acquirer that may wait to be looked into: at 2,000 a second nearly a minute's. */
export const openNoticesMax = 100_000
/** While there are too many, they are counted again no sooner than this. */
const countAgainMs = 1_000

type Backlog = { atMost: number; countedAt: number; counting: Promise<void> | null }

/**
 * Bounds what is kept of an acquirer that tells faster than can be looked into, or of somebody who learned its address and makes up
 * notices. What is refused is told again, and payments are found by the poller as well. It counts what it lets in, and asks the
 * database only when that may be too many, so what it says is right to within a commit. Each process has its own.
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

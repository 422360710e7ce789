type Sample<Position> = { position: Position; at: number }

/** The positions that a log had at some times, until they are replayed. The oldest one is as old as the lag. */
export type LagSamples<Position> = {
  add(position: Position, at: number): void
  removeReplayed(isReplayed: (position: Position) => boolean): void
  clear(): void
  /** Since when something is not replayed; null if all of it is. */
  since(): number | null
}

/**
 * Keeps at most `max` samples: then it drops every second one, and adds new ones less often, at the same distance. So
 * the lag is too low by less than its greatest value divided by a third of `max`.
 */
export function createLagSamples<Position>(max: number): LagSamples<Position> {
  let samples: Sample<Position>[] = []
  let distance = 0
  return {
    add(position, at) {
      const [first] = samples
      const last = samples.at(-1)
      if (!first) distance = 0
      else if (last && at - last.at < distance) return
      if (first && samples.length >= max) {
        samples = samples.filter((_, index) => index % 2 === 0)
        distance = (at - first.at) / samples.length
      }
      samples.push({ position, at })
    },
    removeReplayed(isReplayed) {
      while (samples[0] && isReplayed(samples[0].position)) samples.shift()
    },
    clear() {
      samples = []
    },
    since: () => samples[0]?.at ?? null,
  }
}

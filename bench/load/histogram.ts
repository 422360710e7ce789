/**
 * Counts durations in microseconds. Each bucket is at most 1/128 as wide as its values. The histogram accepts any
 * duration, can be merged, and is cheap enough for the measured loop. Unlike the one of perf_hooks it can be sent to
 * another process, and counts 0.
 */
export type Histogram = { counts: number[]; count: number; max: number }

const bits = 7
const half = 1 << bits

export function newHistogram(): Histogram {
  // Buckets up to an hour. A longer duration counts in the last one.
  return { counts: new Array<number>(toBucket(3.6e9) + 1).fill(0), count: 0, max: 0 }
}

export function record(histogram: Histogram, micros: number): void {
  const value = Math.max(0, Math.round(micros))
  const bucket = Math.min(toBucket(value), histogram.counts.length - 1)
  histogram.counts[bucket] = (histogram.counts[bucket] ?? 0) + 1
  histogram.count += 1
  if (value > histogram.max) histogram.max = value
}

export function merge(into: Histogram, other: Histogram): void {
  for (const [bucket, count] of other.counts.entries()) into.counts[bucket] = (into.counts[bucket] ?? 0) + count
  into.count += other.count
  into.max = Math.max(into.max, other.max)
}

/** What was recorded after `before`, an earlier state of the same histogram. The maximum is that of the highest bucket. */
export function since(before: Histogram, after: Histogram): Histogram {
  const counts = after.counts.map((count, bucket) => count - (before.counts[bucket] ?? 0))
  const highest = counts.findLastIndex((count) => count > 0)
  return {
    counts,
    count: after.count - before.count,
    max: highest === -1 ? 0 : Math.min(toUpperEnd(highest), after.max),
  }
}

/** In microseconds, within one part in 256. NaN if nothing was recorded. */
export function mean({ counts, count, max }: Histogram): number {
  const sum = counts.reduce(
    (total, inBucket, bucket) => (inBucket === 0 ? total : total + inBucket * toMiddle(bucket, max)),
    0,
  )
  return sum / count
}

/** The duration, in microseconds, that this percentage of the recorded ones does not exceed. NaN if there are none. */
export function percentile(histogram: Histogram, percent: number): number {
  const rank = Math.max(1, Math.ceil((percent / 100) * histogram.count))
  let seen = 0
  for (const [bucket, count] of histogram.counts.entries()) {
    seen += count
    if (seen >= rank) return Math.min(toUpperEnd(bucket), histogram.max)
  }
  return Number.NaN
}

/** Below 2^(bits+1) a bucket is one microsecond wide; from there on each doubling has 2^bits buckets. */
function toBucket(value: number): number {
  if (value < 2 * half) return value
  const exponent = Math.floor(Math.log2(value)) - bits
  return exponent * half + Math.floor(value / 2 ** exponent)
}

function toMiddle(bucket: number, max: number): number {
  const lowest = bucket === 0 ? 0 : toUpperEnd(bucket - 1) + 1
  return (lowest + Math.min(toUpperEnd(bucket), max)) / 2
}

function toUpperEnd(bucket: number): number {
  if (bucket < 2 * half) return bucket
  const exponent = Math.floor(bucket / half) - 1
  return (bucket - exponent * half + 1) * 2 ** exponent - 1
}

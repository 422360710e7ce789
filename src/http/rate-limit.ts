import type { FastifyReply } from 'fastify'
import ipaddr from 'ipaddr.js'
import type { Clock } from '../lib/clock.ts'
import { AppError } from '../lib/errors.ts'

/** As many keys as are remembered at once: past that the key that was unused for longest is forgotten, and starts with a full bucket. */
const keysMax = 100_000

export type RateLimit = { perSecond: number; burst: number }
export type Taken = { isAllowed: boolean; remaining: number; retryAfterSeconds: number }
export type RateLimiter = {
  readonly name: string
  readonly limit: RateLimit
  /** As the header `RateLimit-Policy` says it. */
  readonly policy: string
  take(key: string): Taken
  /** Gives back what was taken for something that does not count after all. */
  giveBack(key: string): void
  /** Takes what was allowed elsewhere, be there so much or not; below nothing, what was given back there. */
  debit(key: string, count: number): void
}

/** A token bucket per key, in this process: `burst` at once, refilled `perSecond`. A limit of 0 per second is no limit. */
export function createRateLimiter(options: { name: string; limit: RateLimit; clock: Clock }): RateLimiter {
  const { name, limit, clock } = options
  const { perSecond, burst } = limit
  const buckets = new Map<string, { level: number; at: number }>()

  function levelOf(key: string, now: number): number {
    const bucket = buckets.get(key) ?? { level: burst, at: now }
    return Math.min(burst, bucket.level + (Math.max(0, now - bucket.at) / 1000) * perSecond)
  }

  function keep(key: string, level: number, now: number): void {
    // Deleted and set again, the map's order is that of last use.
    buckets.delete(key)
    buckets.set(key, { level, at: now })
    const oldest = buckets.size > keysMax ? buckets.keys().next() : undefined
    if (oldest && !oldest.done) buckets.delete(oldest.value)
  }

  function debit(key: string, count: number): void {
    if (perSecond === 0) return
    const now = clock.now().getTime()
    // Below nothing, too: what was allowed too often is waited for.
    keep(key, levelOf(key, now) - count, now)
  }

  return {
    name,
    limit,
    policy: `"${name}";q=${burst};w=${Math.max(1, Math.ceil(burst / perSecond))}`,
    take(key) {
      if (perSecond === 0) return { isAllowed: true, remaining: burst, retryAfterSeconds: 0 }
      const now = clock.now().getTime()
      const level = levelOf(key, now)
      const isAllowed = level >= 1
      const left = isAllowed ? level - 1 : level
      keep(key, left, now)
      return {
        isAllowed,
        remaining: Math.max(0, Math.floor(left)),
        retryAfterSeconds: left >= 1 ? 0 : Math.max(1, Math.ceil((1 - left) / perSecond)),
      }
    },
    giveBack: (key) => debit(key, -1),
    debit,
  }
}

/**
 * Takes one for this key and says on the answer what is left (`RateLimit`, `RateLimit-Policy`: draft-ietf-httpapi-ratelimit-headers).
 *
 * @throws {AppError} `rate_limited`, with `Retry-After`
 */
export function enforceRateLimit(limiter: RateLimiter, key: string, reply: FastifyReply): void {
  if (limiter.limit.perSecond === 0) return
  const taken = limiter.take(key)
  void reply
    .header('ratelimit-policy', limiter.policy)
    .header('ratelimit', `"${limiter.name}";r=${taken.remaining};t=${taken.retryAfterSeconds}`)
  if (taken.isAllowed) return
  throw new AppError('rate_limited', {
    detail: `Too many requests: after the first ${limiter.limit.burst}, ${toRate(limiter.limit)} is allowed. Wait ${taken.retryAfterSeconds} s and try again.`,
    headers: { 'retry-after': String(taken.retryAfterSeconds) },
  })
}

function toRate({ perSecond }: RateLimit): string {
  return perSecond > 1 ? `one every ${Math.ceil(1000 / perSecond)} ms` : `one every ${Math.ceil(1 / perSecond)} s`
}

/**
 * Does what may fail, such as a sign-in, and counts failures only: each of these is taken before, so that many at once count as well, and given back
 * when it went well.
 *
 * @throws {AppError} `rate_limited` after too many failures, and whatever `work` throws
 */
export async function countFailures<Result>(
  limits: readonly { limiter: RateLimiter; key: string }[],
  { reply, isFailure }: { reply: FastifyReply; isFailure: (error: unknown) => boolean },
  work: () => Promise<Result>,
): Promise<Result> {
  for (const { limiter, key } of limits) enforceRateLimit(limiter, key, reply)
  const giveBack = () => {
    for (const { limiter, key } of limits) limiter.giveBack(key)
  }
  try {
    const result = await work()
    giveBack()
    return result
  } catch (error) {
    if (!isFailure(error)) giveBack()
    throw error
  }
}

/** What one host has: an IPv4 address, or all 2^64 addresses of an IPv6 network, of which it could use another at each request. */
export function toHost(address: string): string {
  if (!ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  return parsed instanceof ipaddr.IPv6 ? parsed.parts.slice(0, 4).join(':') : parsed.toString()
}

import type { FastifyReply } from 'fastify'
import ipaddr from 'ipaddr.js'
import type { Clock } from '../lib/clock.ts'
import { AppError, errors } from '../lib/errors.ts'
import { setNewest } from '../lib/newest.ts'

/** The number of keys remembered. Beyond it the least recently used key is forgotten and starts with a full bucket. */
const keysMax = 100_000

/**
 * The shared level and the level here are read at slightly different moments. A difference below one request, or below
 * what is refilled in this time, does not show that other processes allowed requests.
 */
const clockErrorSeconds = 0.1

export type RateLimit = { perSecond: number; burst: number }
export type Taken = { isAllowed: boolean; remaining: number; retryAfterSeconds: number }
export type RateLimiter = {
  readonly name: string
  readonly limit: RateLimit
  /** The value of the header `RateLimit-Policy`. */
  readonly policy: string
  take(key: string): Taken
  /** Returns the token that `take` took for something that does not count after all. */
  giveBack(key: string, taken: Taken): void
  /**
   * Sets what was left at a moment in a bucket that other processes use too. Below zero, requests are refused until it
   * is refilled.
   */
  setLevel(key: string, level: number, at: Date): void
}

/**
 * A token bucket per key, in this process: `burst` at once, refilled `perSecond`. A limit of 0 per second is no limit.
 */
export function createRateLimiter(options: { name: string; limit: RateLimit; clock: Clock }): RateLimiter {
  const { name, limit, clock } = options
  const { perSecond, burst } = limit
  const buckets = new Map<string, { level: number; at: number }>()

  function levelOf(key: string, now: number): number {
    const bucket = buckets.get(key) ?? { level: burst, at: now }
    return Math.min(burst, bucket.level + (Math.max(0, now - bucket.at) / 1000) * perSecond)
  }

  function keep(key: string, level: number, now: number): void {
    setNewest(buckets, key, { level, at: now }, keysMax)
  }

  function setLevel(key: string, levelThen: number, at: Date): void {
    const now = clock.now().getTime()
    const level = levelThen + (Math.max(0, now - at.getTime()) / 1000) * perSecond
    if (Math.abs(level - levelOf(key, now)) >= Math.max(1, perSecond * clockErrorSeconds))
      keep(key, Math.min(burst, level), now)
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
    giveBack(key) {
      const now = clock.now().getTime()
      keep(key, Math.min(burst, levelOf(key, now) + 1), now)
    },
    setLevel,
  }
}

/**
 * Takes a token and reports on the response what is left (`RateLimit`, `RateLimit-Policy`:
 * draft-ietf-httpapi-ratelimit-headers).
 * @throws {AppError} `rate_limited`, with `Retry-After`
 */
export function enforceRateLimit(limiter: RateLimiter, key: string, reply: FastifyReply): Taken {
  const taken = limiter.take(key)
  if (limiter.limit.perSecond === 0) return taken
  addToList(reply, 'ratelimit-policy', limiter.policy)
  addToList(reply, 'ratelimit', `"${limiter.name}";r=${taken.remaining};t=${taken.retryAfterSeconds}`)
  if (taken.isAllowed) return taken
  throw new AppError('rate_limited', {
    detail: `Too many requests: after a burst of ${limiter.limit.burst}, ${toRate(limiter.limit)} is allowed. Wait ${taken.retryAfterSeconds} s and try again.`,
    headers: { 'retry-after': String(taken.retryAfterSeconds) },
  })
}

/** A request may count against several limits. */
function addToList(reply: FastifyReply, header: string, item: string): void {
  const before = reply.getHeader(header)
  void reply.header(header, before === undefined ? item : `${before}, ${item}`)
}

function toRate({ perSecond }: RateLimit): string {
  return perSecond > 1 ? `one every ${Math.ceil(1000 / perSecond)} ms` : `one every ${Math.ceil(1 / perSecond)} s`
}

/**
 * Runs work that may fail, such as a sign-in, and counts only failures. It takes a token first, so that concurrent
 * attempts count too, and returns it on success. An attempt that one limit refuses counts against none.
 * @throws {AppError} `rate_limited` after too many failures, and whatever `work` throws
 */
export async function countFailures<Result>(
  limits: readonly { limiter: RateLimiter; key: string }[],
  { reply, isFailure }: { reply: FastifyReply; isFailure: (error: unknown) => boolean },
  work: () => Promise<Result>,
): Promise<Result> {
  const tokens: { limiter: RateLimiter; key: string; taken: Taken }[] = []
  const giveBack = () => {
    for (const { limiter, key, taken } of tokens) limiter.giveBack(key, taken)
  }
  try {
    for (const { limiter, key } of limits) {
      const taken = enforceRateLimit(limiter, key, reply)
      tokens.push({ limiter, key, taken })
    }
    const result = await work()
    giveBack()
    return result
  } catch (error) {
    if (!isFailure(error)) giveBack()
    throw error
  }
}

/** True if the person's input is wrong. A limit, an overload or an error of our own is not the person's failure. */
export function isOwnFailure(error: unknown): boolean {
  return error instanceof AppError && error.code !== 'rate_limited' && errors[error.code].status < 500
}

/**
 * The key of one host: an IPv4 address, or the whole /64 network of an IPv6 address, because a host can use another of
 * its 2^64 addresses for each request. Hashes of it are stored (users/device.ts), so its form does not change.
 */
export function toHost(address: string): string {
  return mapHost(address, (parts) => parts.join(':'))
}

/** The same host as people and programs read it, such as `203.0.113.7` or `2001:db8:0:1::/64`. */
export function describeHost(address: string): string {
  return mapHost(address, (parts) => `${parts.map((part) => part.toString(16)).join(':')}::/64`)
}

function mapHost(address: string, ofNetwork: (parts: number[]) => string): string {
  if (!ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  return parsed instanceof ipaddr.IPv6 ? ofNetwork(parsed.parts.slice(0, 4)) : parsed.toString()
}

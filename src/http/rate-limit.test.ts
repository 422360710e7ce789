import { expect, it } from 'vitest'
import { createRateLimiter } from './rate-limit.ts'

it('makes wait for all that other processes allowed', () => {
  let now = 0
  const limiter = createRateLimiter({
    name: 'x',
    limit: { perSecond: 10, burst: 20 },
    clock: { now: () => new Date(now) },
  })
  for (let i = 0; i < 20; i += 1) expect(limiter.take('shop').isAllowed).toBe(true)
  // Two other processes each allowed a whole burst before they knew of the rest.
  limiter.setLevel('shop', -40, new Date(now))
  expect(limiter.take('shop')).toEqual({ isAllowed: false, remaining: 0, retryAfterSeconds: 5 })
  now += 4_000
  expect(limiter.take('shop')).toEqual({ isAllowed: false, remaining: 0, retryAfterSeconds: 1 })
  now += 100
  expect(limiter.take('shop')).toEqual({ isAllowed: true, remaining: 0, retryAfterSeconds: 1 })
  // Other keys have their own buckets, which are full.
  limiter.setLevel('other', 1, new Date(now))
  expect(limiter.take('other').isAllowed).toBe(true)
  expect(limiter.take('other').isAllowed).toBe(false)
  // The answer of a slow database: what it says was so a second ago.
  limiter.setLevel('slow', 3, new Date(now - 1_000))
  expect(limiter.take('slow').remaining).toBe(12)
})

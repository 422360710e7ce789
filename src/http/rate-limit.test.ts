import type { FastifyReply } from 'fastify'
import { expect, it } from 'vitest'
import { AppError } from '../lib/errors.ts'
import { countFailures, createRateLimiter, describeHost, isOwnFailure, toHost } from './rate-limit.ts'

it('refuses requests until what other processes allowed is refilled', () => {
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
  // The answer of a slow database: the level that it reports is a second old.
  limiter.setLevel('slow', 3, new Date(now - 1_000))
  expect(limiter.take('slow').remaining).toBe(12)
})

it('counts an attempt that one of several limits refuses against none of them', async () => {
  const clock = { now: () => new Date(0) }
  const limiterOf = (name: string, burst: number) => createRateLimiter({ name, limit: { perSecond: 1, burst }, clock })
  const [perAddress, perPerson] = [limiterOf('address', 5), limiterOf('person', 2)]
  const headers = new Map<string, unknown>()
  const reply = {
    getHeader: (name: string) => headers.get(name),
    header: (name: string, value: unknown) => headers.set(name, value),
  } as unknown as FastifyReply
  const limits = [
    { limiter: perAddress, key: 'office' },
    { limiter: perPerson, key: 'ana office' },
  ]
  const fail = async () => {
    throw new AppError('sign_in_failed')
  }
  const attempt = async () => await countFailures(limits, { reply, isFailure: isOwnFailure }, fail)
  for (const code of ['sign_in_failed', 'sign_in_failed', 'rate_limited', 'rate_limited', 'rate_limited'])
    await expect(attempt()).rejects.toMatchObject({ code })
  expect(perAddress.take('office').remaining).toBe(2)
})

it('counts the addresses of one IPv6 network as one host, and names it by its prefix', () => {
  expect(toHost('2001:db8:0:1::1')).toBe(toHost('2001:db8:0:1:ffff::2'))
  expect(toHost('2001:db8:0:1::1')).not.toBe(toHost('2001:db8:0:2::1'))
  expect(describeHost('2001:db8:0:1:ffff::2')).toBe('2001:db8:0:1::/64')
  for (const address of ['203.0.113.7', '::ffff:203.0.113.7']) expect(describeHost(address)).toBe('203.0.113.7')
})

import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { receiverAccount } from '../../simulator/receiver-account.ts'
import { txidOf } from '../../test/support/simulator.ts'
import { AcquirerUnavailable, TooManyRequests } from './acquirer.ts'
import { createBacenAcquirer } from './bacen/adapter.ts'
import { createBreaker } from './breaker.ts'

// The breaker uses the machine's clock: the tests move the time, and leave timers alone.
beforeEach(() => vi.useFakeTimers({ toFake: ['Date', 'performance'] }))
afterEach(() => vi.useRealTimers())

const logged: string[] = []
const log = {
  info: (_: object, said: string) => logged.push(said),
  warn: (_: object, said: string) => logged.push(said),
}
const silent = () => Promise.reject(new AcquirerUnavailable('The acquirer did not answer in time'))

async function openBreaker(failures = 5) {
  const breaker = createBreaker({ name: 'psp', log })
  for (let i = 0; i < failures; i++) await expect(breaker.guard(silent)).rejects.toThrow('in time')
  return breaker
}

it('opens after five requests in a row without an answer, and then sends nothing', async () => {
  const breaker = await openBreaker(4)
  expect([breaker.isClosed(), breaker.state()]).toEqual([true, 0])
  await expect(breaker.guard(silent)).rejects.toThrow('in time')
  expect([breaker.isClosed(), breaker.state()]).toEqual([false, 1])
  const request = vi.fn(silent)
  const refused = await breaker.guard(request).catch((error: unknown) => error)
  expect(refused).toBeInstanceOf(AcquirerUnavailable)
  expect(refused).toMatchObject({ message: 'The acquirer did not answer lately, so the request was not sent' })
  expect(request).not.toHaveBeenCalled()
  expect(logged.splice(0)).toEqual([expect.stringContaining('does not answer')])
})

it('does not count an answer or an error of our own as a missing answer', async () => {
  const breaker = await openBreaker(4)
  expect(await breaker.guard(() => Promise.resolve('refused'))).toBe('refused')
  for (let i = 0; i < 9; i++) await expect(breaker.guard(() => Promise.reject(new TypeError('x')))).rejects.toThrow('x')
  expect(breaker.isClosed()).toBe(true)
})

it.each([
  { status: 429, headers: {}, body: '{}' },
  { status: 404, headers: {}, body: '{"message":"no Route matched with those values"}' },
])('stays closed while one kind of request is answered with %j', async (answer) => {
  const breaker = await openBreaker(4)
  const acquirer = createBacenAcquirer({
    name: 'psp',
    send: async ({ isToken }) => (isToken ? { ...answer, status: 200, body: '{"access_token":"t"}' } : answer),
    credentials: { clientId: 'a', clientSecret: 'b' },
    chave: receiverAccount.pix.key,
    receiver: receiverAccount,
    isRemote: true,
    breaker,
  })
  await expect(acquirer.findCharge(txidOf(1))).rejects.toThrow(`answered ${answer.status}`)
  await expect(breaker.guard(silent)).rejects.toThrow('in time')
  expect(breaker.isClosed()).toBe(true)
})

it('closes when the request that tests it is answered with 429', async () => {
  const breaker = await openBreaker()
  expect(breaker.isPausing()).toBe(true)
  vi.advanceTimersByTime(60_000)
  // Still open, but a request would be sent.
  expect([breaker.isPausing(), breaker.isClosed()]).toEqual([false, false])
  await expect(breaker.guard(() => Promise.reject(new TooManyRequests('429')))).rejects.toThrow('429')
  expect(breaker.isClosed()).toBe(true)
})

it('lets one request through after a while, even if the clock was set back, and all after its answer', async () => {
  const breaker = await openBreaker()
  vi.setSystemTime(Date.now() - 2 * 3_600_000)
  vi.advanceTimersByTime(60_000)
  let answer = (_: string) => {}
  const first = breaker.guard(() => new Promise<string>((resolve) => (answer = resolve)))
  expect([breaker.isClosed(), breaker.state()]).toEqual([false, 2])
  const others = vi.fn(() => Promise.resolve('second'))
  const second = breaker.guard(others)
  expect(others).not.toHaveBeenCalled()
  answer('first')
  expect(await Promise.all([first, second])).toEqual(['first', 'second'])
  expect(breaker.isClosed()).toBe(true)
  expect(logged.splice(0).at(-1)).toContain('answers again')
})

it('stays open when the request that tests it has no answer either', async () => {
  const breaker = await openBreaker()
  vi.advanceTimersByTime(60_000)
  await expect(breaker.guard(silent)).rejects.toThrow('in time')
  await expect(breaker.guard(silent)).rejects.toThrow('was not sent')
  vi.advanceTimersByTime(60_000)
  const failing = () => {
    throw new AcquirerUnavailable('Failed before anything was sent')
  }
  await expect(breaker.guard(failing)).rejects.toThrow('before anything')
  expect([breaker.isClosed(), breaker.state()]).toEqual([false, 1])
})

it('doubles the pause after each failed test, up to a minute', async () => {
  const breaker = await openBreaker()
  // Each pause is shortened at random, by half at most.
  for (const pauseMs of [2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]) {
    vi.advanceTimersByTime(pauseMs / 2 - 1)
    expect(breaker.isPausing()).toBe(true)
    vi.advanceTimersByTime(pauseMs / 2 + 1)
    await expect(breaker.guard(silent)).rejects.toThrow('in time')
  }
})

it('closes when the request that tests it fails by an error of our own', async () => {
  const breaker = await openBreaker()
  vi.advanceTimersByTime(60_000)
  await expect(breaker.guard(() => Promise.reject(new TypeError('x')))).rejects.toThrow('x')
  expect(breaker.isClosed()).toBe(true)
})

it('stays open when an earlier request ends after it opened', async () => {
  const breaker = createBreaker({ name: 'psp', log })
  let answer = (_: string) => {}
  const early = breaker.guard(() => new Promise<string>((resolve) => (answer = resolve)))
  for (let i = 0; i < 5; i++) await expect(breaker.guard(silent)).rejects.toThrow('in time')
  answer('late')
  expect(await early).toBe('late')
  await expect(breaker.guard(silent)).rejects.toThrow('was not sent')
})

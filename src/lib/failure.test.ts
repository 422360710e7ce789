import { queryObjects } from 'node:v8'
import { expect, it } from 'vitest'
import { createFailure } from './failure.ts'

const never = () => new Promise<never>(() => {})

it('gives the result of work that ends before the failure', async () => {
  const failure = createFailure()
  await expect(failure.before(Promise.resolve(1))).resolves.toBe(1)
  await expect(failure.before(Promise.reject(new Error('work')))).rejects.toThrow('work')
})

it('rejects all work in progress and all later work with the first failure', async () => {
  const failure = createFailure()
  const works = [failure.before(never()), failure.before(never())].map((work) => expect(work).rejects.toThrow('first'))
  failure.fail(new Error('first'))
  failure.fail(new Error('second'))
  await Promise.all(works)
  await expect(failure.before(never())).rejects.toThrow('first')
})

it('keeps nothing of work that has ended', async () => {
  const failure = createFailure()
  const before = queryObjects(Promise, { format: 'count' })
  for (let index = 0; index < 10_000; index++) await failure.before(Promise.resolve())
  expect(queryObjects(Promise, { format: 'count' }) - before).toBeLessThan(1_000)
  failure.fail(new Error('the end'))
})

import { expect, it } from 'vitest'
import { createBacklogLimit } from './backlog.ts'

it('accepts as many as fit, and queries the database only when the limit may be reached', async () => {
  const requested: string[] = []
  const hasRoom = createBacklogLimit(async (acquirer) => {
    requested.push(acquirer)
    return 4
  }, 10)
  // Concurrently, as after a start: counted once.
  expect(await Promise.all([2, 2, 2].map(async (notices) => await hasRoom('psp', notices)))).toEqual([true, true, true])
  expect(await hasRoom('psp', 1)).toBe(false)
  expect(await hasRoom('other', 6)).toBe(true)
  expect(requested).toEqual(['psp', 'other'])
})

it('counts again after the database failed', async () => {
  let isDown = true
  const hasRoom = createBacklogLimit(async () => {
    if (isDown) throw new Error('down')
    return 0
  }, 10)
  await expect(hasRoom('psp', 1)).rejects.toThrow('down')
  isDown = false
  expect(await hasRoom('psp', 10)).toBe(true)
  expect(await hasRoom('psp', 1)).toBe(false)
})

import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { together } from './at-once.ts'

const behindFailure = Object.assign(new Error('current transaction is aborted'), { code: '25P02' })

async function inMs(ms: number, failure?: Error): Promise<number> {
  await sleep(ms)
  if (failure) throw failure
  return ms
}

describe('pipelined statements', () => {
  it('return their results in order', async () => {
    expect(await together(inMs(3), inMs(1), inMs(2))).toEqual([3, 1, 2])
  })

  it('fail with the original error, not with the errors that it caused, whichever arrives first', async () => {
    const reason = new Error('a row is refused')
    await expect(together(inMs(1, behindFailure), inMs(3, reason), inMs(2, behindFailure))).rejects.toBe(reason)
    await expect(together(inMs(1), inMs(1, behindFailure))).rejects.toBe(behindFailure)
  })

  it('fail only when all of them have finished, so that none runs after the rollback', async () => {
    let isOver = false
    const slow = inMs(20).then(() => {
      isOver = true
    })
    await expect(together(inMs(1, new Error('a row is refused')), slow)).rejects.toThrow('refused')
    expect(isOver).toBe(true)
  })
})

import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { forEachConcurrent, pipelined } from './concurrent.ts'

const skippedAfterFailure = Object.assign(new Error('current transaction is aborted'), { code: '25P02' })

async function inMs(ms: number, failure?: Error): Promise<number> {
  await sleep(ms)
  if (failure) throw failure
  return ms
}

describe('items processed concurrently', () => {
  const never = new AbortController().signal

  it('are never more than the concurrency at a time', async () => {
    let [running, most] = [0, 0]
    const work = async () => {
      running += 1
      most = Math.max(most, running)
      await sleep(1)
      running -= 1
    }
    await forEachConcurrent(Array.from({ length: 20 }), never, work, 3)
    expect([running, most]).toEqual([0, 3])
  })

  it.each(['one fails', 'the signal is aborted'])('have all ended when %s, and no other has started', async (end) => {
    const stopping = new AbortController()
    const started: number[] = []
    const ended: number[] = []
    const done = forEachConcurrent(
      [1, 2, 3, 4],
      stopping.signal,
      async (item) => {
        started.push(item)
        if (item === 2 && end === 'one fails') throw new Error('the second failed')
        if (item === 2) stopping.abort()
        await sleep(10)
        ended.push(item)
      },
      2,
    )
    if (end === 'one fails') await expect(done).rejects.toThrow('the second failed')
    else await done
    expect(started).toEqual([1, 2])
    expect(ended).toEqual(end === 'one fails' ? [1] : [1, 2])
  })
})

describe('pipelined statements', () => {
  it('return their results in order', async () => {
    expect(await pipelined(inMs(3), inMs(1), inMs(2))).toEqual([3, 1, 2])
  })

  it('fail with the original error, not with the errors that it caused, whichever arrives first', async () => {
    const reason = new Error('a row is refused')
    const between = pipelined(inMs(1, skippedAfterFailure), inMs(3, reason), inMs(2, skippedAfterFailure))
    await expect(between).rejects.toBe(reason)
    await expect(pipelined(inMs(3, skippedAfterFailure), inMs(1, reason))).rejects.toBe(reason)
    await expect(pipelined(inMs(1), inMs(1, skippedAfterFailure))).rejects.toBe(skippedAfterFailure)
  })

  it('fail only when all of them have finished, so that none runs after the rollback', async () => {
    let isOver = false
    const slow = inMs(20).then(() => {
      isOver = true
    })
    await expect(pipelined(inMs(1, new Error('a row is refused')), slow)).rejects.toThrow('refused')
    expect(isOver).toBe(true)
  })
})

import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { forEachConcurrent, pipelined } from './concurrent.ts'

const behindFailure = Object.assign(new Error('current transaction is aborted'), { code: '25P02' })

async function inMs(ms: number, failure?: Error): Promise<number> {
  await sleep(ms)
  if (failure) throw failure
  return ms
}

describe('items processed at once', () => {
  const never = new AbortController().signal

  it('never exceed the concurrency', async () => {
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

  it.each(['fails', 'is stopped'])('are all at an end when one %s, and no other is started', async (end) => {
    const stopping = new AbortController()
    const started: number[] = []
    const ended: number[] = []
    const done = forEachConcurrent(
      [1, 2, 3, 4],
      stopping.signal,
      async (item) => {
        started.push(item)
        if (item === 2 && end === 'fails') throw new Error('the second failed')
        if (item === 2) stopping.abort()
        await sleep(10)
        ended.push(item)
      },
      2,
    )
    if (end === 'fails') await expect(done).rejects.toThrow('the second failed')
    else await done
    expect(started).toEqual([1, 2])
    expect(ended).toEqual(end === 'fails' ? [1] : [1, 2])
  })
})

describe('pipelined statements', () => {
  it('return their results in order', async () => {
    expect(await pipelined(inMs(3), inMs(1), inMs(2))).toEqual([3, 1, 2])
  })

  it('fail with the original error, not with the errors that it caused, whichever arrives first', async () => {
    const reason = new Error('a row is refused')
    await expect(pipelined(inMs(1, behindFailure), inMs(3, reason), inMs(2, behindFailure))).rejects.toBe(reason)
    await expect(pipelined(inMs(1), inMs(1, behindFailure))).rejects.toBe(behindFailure)
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

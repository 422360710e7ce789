import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { Db } from '../db/sql.ts'
import { createChangeReader } from './live-changes.ts'
import { type QueueEntry, queueMax } from './live-store.ts'

const merchantId = randomUUID()

function entry(queue: QueueEntry['queue'], minute: number, status = 'approval'): QueueEntry {
  return { queue, merchantId, clientId: 'shop', id: `${minute}`, status, since: new Date(minute * 60_000) }
}

/** Reads a queue as the database gives it: the newest entries. */
function createQueueReader(queue: QueueEntry['queue']) {
  let waiting: QueueEntry[] = []
  let failing: string | null = null
  const query = async (_: unknown, name?: string) => {
    if (name === failing) throw new Error('the database is away')
    if (name !== 'list-queues') return []
    return waiting.toSorted((a, b) => b.since.getTime() - a.since.getTime()).slice(0, queueMax)
  }
  const read = createChangeReader({ query } as unknown as Db)
  return async (
    minutes: number[],
    statusOf: (minute: number) => string = () => 'approval',
    failingQuery: string | null = null,
  ) => {
    failing = failingQuery
    waiting = minutes.map((minute) => entry(queue, minute, statusOf(minute)))
    const changes = await read(null)
    return changes.map(({ status, records }) => `${records[0]?.id} ${status}`)
  }
}

const upTo = (last: number) => Array.from({ length: last }, (_, index) => index + 1)

describe.each(['approval', 'suspense', 'dispute'] as const)('the changes of the queue %s', (queue) => {
  it('are what is new, what has another status, and what no longer waits', async () => {
    const read = createQueueReader(queue)
    expect(await read([1, 2, 3])).toEqual([])
    const changes = await read([2, 3, 4], (minute) => (minute === 3 ? 'other' : 'approval'))
    expect(changes).toEqual(['4 approval', '3 other', '1 closed'])
  })

  it('are read again after a poll that failed', async () => {
    const read = createQueueReader(queue)
    expect(await read([1])).toEqual([])
    await expect(read([1, 2], undefined, 'list-newest-attempts')).rejects.toThrow('the database is away')
    expect(await read([1, 2])).toEqual(['2 approval'])
  })

  it('leave out what a poll does not read of a long queue, although it waits', async () => {
    const read = createQueueReader(queue)
    const full = upTo(queueMax)
    expect(await read(full)).toEqual([])
    // A new one takes the place of the oldest, which still waits.
    const more = upTo(queueMax + 1)
    expect(await read(more)).toEqual([`${queueMax + 1} approval`])
    // One is decided: the oldest is read again.
    const decided = queueMax - 10
    expect(await read(more.filter((minute) => minute !== decided))).toEqual([`${decided} closed`])
    expect(await read(full)).toEqual([`${decided} approval`, `${queueMax + 1} closed`])
  })
})

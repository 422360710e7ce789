import { expect, it } from 'vitest'
import type { DeliveryStages } from '../src/webhooks/deliver.ts'
import { mean, newHistogram, record } from './load/histogram.ts'
import { deliveryParts, partOf, type Snapshot, stagesBetween } from './stages.ts'
import { toStatementNames } from './statements.ts'

it('sums what all processes recorded between two readings, with the maximum of that period only', () => {
  const snapshot = (durations: number[]): Snapshot => {
    const histogram = newHistogram()
    for (const duration of durations) record(histogram, duration)
    return { busyMs: 0, texts: new Map(), stages: new Map([['handler', histogram]]) }
  }
  const before = new Map([
    [1, snapshot([90_000, 20])],
    [2, snapshot([30])],
  ])
  // Process 3 started between the two readings.
  const after = new Map([
    [1, snapshot([90_000, 20, 40, 40])],
    [2, snapshot([30])],
    [3, snapshot([100])],
  ])
  const expected = newHistogram()
  for (const duration of [40, 40, 100]) record(expected, duration)
  const stages = stagesBetween(before, after)
  expect([...stages]).toEqual([['handler', expected]])
  expect(mean(stages.get('handler') ?? newHistogram())).toBe(60)
  expect([...stagesBetween(after, after)]).toEqual([])
})

it('finds the name of a prepared statement by what PostgreSQL shows of its text', () => {
  const text = `
    select id from jobs
    where name = $1 and is_done = false and state in ('new', 'due') and run_at < $2 - interval '5 s' limit 10`
  const toName = toStatementNames(new Map([['find-jobs', text]]))
  const shown =
    'select id from jobs where name = $1 and is_done = $3 and state in ($4 /*, ... */) and run_at < $2 - interval $5 limit $6'
  expect([text, shown].map(toName)).toEqual(['find-jobs', 'find-jobs'])
  expect(toName('select  1')).toBe('`select 1`')
})

it('splits the time of a delivery into its parts, from timestamps of the wall clock and of performance.now()', () => {
  const occurredAt = new Date()
  const started = occurredAt.getTime() - performance.timeOrigin
  const [claimedAt, builtAt, sentAt, answeredAt, recordedAt] = [5, 9, 10, 12, 20].map((ms) => started + ms)
  const delivery = {
    occurredAt,
    dueAt: occurredAt,
    claimedAt,
    builtAt,
    sentAt,
    answeredAt,
    recordedAt,
  } as DeliveryStages
  expect(deliveryParts.map((part) => Math.round(partOf(delivery, part)))).toEqual([0, 5, 4, 1, 2, 8])
})

import { expect, it, vi } from 'vitest'
import { readConfig } from '../config.ts'
import { countCores, parseQuota, processesFor, processesMax } from './cores.ts'

// With one or two cores, a service with real acquirers would have one process, as one without them has.
vi.mock('node:os', async (original) => ({
  ...(await original<typeof import('node:os')>()),
  availableParallelism: () => 64,
}))

it.each([
  [1, 1],
  [2, 1],
  [3, 2],
  [4, 2],
  [8, 5],
  [64, processesMax],
])('for %d cores gives %d processes', (cores, processes) => {
  expect(processesFor(cores)).toBe(processes)
})

it.each([
  ['200000 100000', 2],
  ['50000 100000', 0.5],
  ['max 100000', null],
  ['-1 100000', null],
  ['null null', null],
  [null, null],
])('reads the limit of a control group: %s is %s', (text, cores) => {
  expect(parseQuota(text)).toBe(cores)
})

it('gives a service with real acquirers as many as its cores say, unless it is configured', () => {
  expect(countCores()).toBeGreaterThanOrEqual(1)
  expect(readConfig({}).processes).toBe(1)
  expect(readConfig({ ACQUIRERS_FILE: 'acquirers.json' }).processes).toBe(processesFor(countCores()))
  expect(readConfig({ ACQUIRERS_FILE: 'acquirers.json', PROCESSES: '3' }).processes).toBe(3)
})

import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { createTestLog, printLoggedErrors } from './logged-errors.ts'

const printed: string[] = []
const log = createTestLog()

beforeAll(() => {
  vi.useFakeTimers()
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => printed.push(String(text)) > 0)
})
afterAll(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})
printLoggedErrors()

it('a test that passes prints no error', () => log.error('an error that the test expects'))

it.fails('a test that fails', () => {
  log.info('not an error')
  log.error({ err: new Error('the cause'), job: 'a-job' }, 'a job failed')
  throw new Error('this test fails')
})

it('prints the errors that services logged during it', () => {
  expect(printed.splice(0)).toEqual([
    expect.stringMatching(/"a test that fails":\na job failed .*"job":"a-job".*\nError: the cause\n +at /s),
  ])
})

it('a test that takes long prints each error at once', () => {
  log.error('the first')
  expect(printed).toEqual([])
  vi.advanceTimersByTime(10_000)
  log.error('the second')
  expect(printed).toEqual([expect.stringContaining('the first'), expect.stringContaining('the second')])
})

import { type Logger, pino } from 'pino'
import { afterEach, beforeEach } from 'vitest'

type Line = { level: number; msg: string; [field: string]: unknown }

/** Most tests have ended by then. One that still runs may be waiting for what an error prevents. */
const quietMs = 10_000
/** A loop that fails repeats its error. */
const linesMax = 20
const errorLevel = 50

let lines: string[] = []
let isPrinting = false
let test = ''

/** Remembers a line of a service's log if it is an error, and prints it at once in a test that takes long. */
export function noteLogLine(line: Line): void {
  if (line.level < errorLevel || lines.length >= linesMax) return
  lines.push(describe(line))
  if (isPrinting) print(lines.slice(-1))
}

/**
 * A log for a service in this process. `onLine` gets every line from level `info` on. Without `onLine`, TEST_LOG_LEVEL
 * prints the log from that level on, and no error is remembered.
 */
export function createTestLog(onLine?: (line: Line) => void): Logger {
  if (process.env.TEST_LOG_LEVEL && !onLine) return pino({ level: process.env.TEST_LOG_LEVEL })
  return pino(
    { level: onLine ? 'info' : 'error' },
    {
      write(text: string) {
        const line: Line = JSON.parse(text)
        noteLogLine(line)
        onLine?.(line)
      },
    },
  )
}

/** Prints the errors that services logged during a test: when it fails, or at once in a test that takes long. */
export function printLoggedErrors(): void {
  beforeEach(({ task }) => {
    test = task.fullTestName
    lines = []
    isPrinting = false
    const timer = setTimeout(() => {
      isPrinting = true
      print(lines)
    }, quietMs)
    return () => clearTimeout(timer)
  })
  afterEach(({ task }) => {
    if (task.result?.state === 'fail' && !isPrinting) print(lines)
    isPrinting = false
  })
}

function print(some: string[]): void {
  if (some.length > 0) process.stderr.write(`A service logged during "${test}":\n${some.join('\n')}\n`)
}

function describe({ msg, level: _level, time: _time, hostname: _hostname, err, ...rest }: Line): string {
  const stack = Object(err).stack ?? ''
  return `${msg} ${JSON.stringify({ ...rest, ...(stack === '' && { err }) })}${stack && `\n${stack}`}`
}

import { createRequire } from 'node:module'
import { type Logger, type LoggerOptions, pino } from 'pino'
import type { prettyFactory } from 'pino-pretty'
import type { Config } from './config.ts'
import { isDatabaseUnavailable } from './db/sql.ts'
import { createCountedLine } from './lib/counted-line.ts'

/**
 * Logs to standard output: JSON, or readable lines for a person at a terminal. Logs contain no document, name of a
 * person, e-mail address, key or secret.
 */
export function createLog(config: Pick<Config, 'logLevel' | 'logFormat'>): Logger {
  const options = {
    level: config.logLevel,
    base: undefined,
    // A safeguard, in case such data is logged by mistake.
    redact: {
      paths: ['*.authorization', '*.client_secret', '*.document', '*.email', '*.customer', '*.payer'],
      censor: '[redacted]',
    },
  }
  if (config.logFormat === 'pretty') {
    // Loaded only if a person reads the log.
    const pretty: { prettyFactory: typeof prettyFactory } = createRequire(import.meta.url)('pino-pretty')
    const toText = pretty.prettyFactory({ singleLine: true, ignore: 'requestId,pid,hostname' })
    const output = openOutput({})
    return pino(
      { ...options, hooks: { logMethod: createHook(null) } },
      { write: (line) => void output.write(toText(line)) },
    )
  }
  // Some twenty lines per write: a write per line would take a tenth of a request's time. At most what a pipe accepts
  // atomically, so that lines of several processes stay whole. This thread writes synchronously, but a reader that has
  // gone does not block it: its lines are dropped.
  const output = openOutput({ minLength: 3072, maxWrite: 4096 })
  return pino({ ...options, hooks: { logMethod: createHook(output) } }, output)
}

function openOutput(options: { minLength?: number; maxWrite?: number }) {
  const output = pino.destination({ ...options, sync: true, maxLength: unwrittenBytesMax })
  // If the disk of a log file is full, lines are kept and then dropped: the service is worth more than its log.
  output.on('error', () => {})
  // pino calls it after a fatal line. Its own would repeat a failing write for ever. The line was written already, or
  // is kept.
  output.flushSync = () => {}
  process.on('exit', () => output.flush())
  return output
}

const { warn = 40 } = pino.levels.values
/** Lines that could not be written are kept up to this size. */
const unwrittenBytesMax = 1_000_000
/** The longest time that a line is buffered. The timer is set by a line: one that always runs costs an idle process. */
const flushAfterMs = 100

type LogHook = NonNullable<NonNullable<LoggerOptions['hooks']>['logMethod']>

/**
 * Warnings and errors are written immediately, before anything else can go wrong. During an outage of the database all
 * background work fails, item by item: one line a second has the number of failures.
 */
function createHook(output: { flush(): void } | null): LogHook {
  const logOutage = createCountedLine(({ log, ...line }: { log: Logger; reason: string; last: unknown }, count) =>
    log.warn({ ...line, count }, databaseOutage),
  )
  let isFlushPlanned = false
  const flushSoon = (to: { flush(): void }) => {
    if (isFlushPlanned) return
    isFlushPlanned = true
    setTimeout(() => {
      isFlushPlanned = false
      to.flush()
    }, flushAfterMs).unref()
  }
  return function (this: Logger, line, write, level) {
    const [data, message] = line as [{ err?: unknown } | string | undefined, string?]
    const cause = typeof data === 'object' && data !== null ? data.err : undefined
    if (isOutage(cause)) return logOutage({ log: this, reason: cause.message, last: message })
    write.apply(this, line)
    if (output === null) return
    if (level >= warn) output.flush()
    else flushSoon(output)
  }
}

const databaseOutage = 'work failed and will be repeated: the database is not available'

/** A statement that takes too long, or waits too long for a lock, concerns one item. */
function isOutage(error: unknown): error is Error {
  return isDatabaseUnavailable(error) && !['57014', '55P03'].includes((error as NodeJS.ErrnoException).code ?? '')
}

import { createRequire } from 'node:module'
import { type Logger, type LoggerOptions, pino } from 'pino'
import type { PinoPretty } from 'pino-pretty'
import type { Config } from './config.ts'

/** Structured logs to standard output, or lines for a person at a terminal. No document, name, e-mail, key or secret is in them. */
export function createLog(config: Pick<Config, 'logLevel' | 'logFormat'>): Logger {
  const options = {
    level: config.logLevel,
    base: undefined,
    // Should one slip in all the same.
    redact: {
      paths: ['*.authorization', '*.client_secret', '*.document', '*.email', '*.customer', '*.payer'],
      censor: '[redacted]',
    },
  }
  if (config.logFormat === 'pretty') {
    // Not loaded where nobody reads it.
    const pretty: typeof PinoPretty = createRequire(import.meta.url)('pino-pretty')
    return pino(options, pretty({ sync: true, singleLine: true, ignore: 'requestId,pid,hostname' }))
  }
  // Some twenty lines to a write: one write a line is a tenth of what a request costs. Not more than a pipe takes in one piece, so that lines of
  // several processes stay whole. Written by this thread, which a reader that has gone away does not stop: its lines are dropped.
  const output = pino.destination({ sync: true, minLength: 3072, maxWrite: 4096, periodicFlush: flushEveryMs })
  process.on('exit', () => output.flush())
  return pino({ ...options, hooks: { logMethod: thenFlushTroubles(output) } }, output)
}

const { warn = 40 } = pino.levels.values
/** The longest that a line waits for others. */
const flushEveryMs = 100

type LogHook = NonNullable<NonNullable<LoggerOptions['hooks']>['logMethod']>

/** What is wrong is written before anything else can go wrong. */
function thenFlushTroubles(output: { flush(): void }): LogHook {
  return function (this: Logger, line, write, level) {
    write.apply(this, line)
    if (level >= warn) output.flush()
  }
}

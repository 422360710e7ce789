import { createRequire } from 'node:module'
import { type Logger, type LoggerOptions, pino } from 'pino'
import type { PinoPretty } from 'pino-pretty'
import type { Config } from './config.ts'

/**
 * Logs to standard output: JSON, or readable lines for a person at a terminal. Logs contain no document, name, e-mail,
 * key or secret.
 */
export function createLog(config: Pick<Config, 'logLevel' | 'logFormat'>): Logger {
  const options = {
    level: config.logLevel,
    base: undefined,
    // A safeguard in case one is logged by mistake.
    redact: {
      paths: ['*.authorization', '*.client_secret', '*.document', '*.email', '*.customer', '*.payer'],
      censor: '[redacted]',
    },
  }
  if (config.logFormat === 'pretty') {
    // Loaded only if a person reads the log.
    const pretty: typeof PinoPretty = createRequire(import.meta.url)('pino-pretty')
    return pino(options, pretty({ sync: true, singleLine: true, ignore: 'requestId,pid,hostname' }))
  }
  // Some twenty lines per write: a write per line would take a tenth of a request's time. At most what a pipe accepts
  // atomically, so that lines of several processes stay whole. This thread writes synchronously, but a reader that has
  // gone does not block it: its lines are dropped.
  const output = pino.destination({ sync: true, minLength: 3072, maxWrite: 4096, periodicFlush: flushEveryMs })
  process.on('exit', () => output.flush())
  return pino({ ...options, hooks: { logMethod: thenFlushTroubles(output) } }, output)
}

const { warn = 40 } = pino.levels.values
/** The longest time that a line is buffered. */
const flushEveryMs = 100

type LogHook = NonNullable<NonNullable<LoggerOptions['hooks']>['logMethod']>

/** Warnings and errors are written immediately, before anything else can go wrong. */
function thenFlushTroubles(output: { flush(): void }): LogHook {
  return function (this: Logger, line, write, level) {
    write.apply(this, line)
    if (level >= warn) output.flush()
  }
}

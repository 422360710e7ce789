import { type Logger, pino } from 'pino'
import pretty from 'pino-pretty'
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
  return config.logFormat === 'pretty'
    ? pino(options, pretty({ sync: true, ignore: 'requestId,pid,hostname' }))
    : pino(options)
}

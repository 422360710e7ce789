import type { Clock } from '../../lib/clock.ts'
import { readTlsMaterial, type TlsFiles, type TlsMaterial, toDay } from './certificate.ts'

export type Log = {
  info(data: object, message: string): void
  warn(data: object, message: string): void
}

/** The current content of the files of mutual TLS. */
export type LiveTls = {
  /** A different object after each renewal, so that callers can compare it by identity. */
  current(): TlsMaterial
  /**
   * Checks whether the files have changed. A new file that cannot be used is logged, and the old content stays in use.
   */
  refresh(): void
  close(): void
}

const checkEveryMs = 30_000
const dayMs = 24 * 60 * 60_000
/** The warning comes this long before a certificate expires: PSPs take days to issue another. */
export const warnDays = 30

/**
 * Reads the files of mutual TLS, keeps their content, and checks every 30 seconds whether they were renewed.
 *
 * @throws {TlsFileError} when the files cannot be used at the start
 */
export function openTls(files: TlsFiles, { clock, log, name }: { clock: Clock; log: Log; name: string }): LiveTls {
  let material = readTlsMaterial(files, clock)
  let warnedOn = ''
  let lastReason = ''
  warnOfExpiry()
  const timer = setInterval(refresh, checkEveryMs)
  timer.unref()
  return { current: () => material, refresh, close: () => clearInterval(timer) }

  function refresh() {
    try {
      const fresh = readTlsMaterial(files, clock)
      lastReason = ''
      if (fresh.content !== material.content) {
        material = fresh
        log.info({ acquirer: name, expiresAt: fresh.expiresAt }, 'an acquirer’s certificate was renewed')
      }
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      // Once for each error, and not at every check.
      if (reason !== lastReason)
        log.warn(
          { acquirer: name, reason },
          'an acquirer’s certificate files cannot be used: the previous ones stay in use',
        )
      lastReason = reason
    }
    warnOfExpiry()
  }

  /** Warns once a day when the certificate expires soon or has expired. */
  function warnOfExpiry() {
    const { expiresAt } = material
    const now = clock.now()
    if (!expiresAt || expiresAt.getTime() - now.getTime() > warnDays * dayMs || warnedOn === toDay(now)) return
    warnedOn = toDay(now)
    const state = now > expiresAt ? 'has expired' : 'expires soon'
    log.warn(
      { acquirer: name, expiresAt },
      `an acquirer’s certificate ${state}: get a new one from the PSP and replace the old file`,
    )
  }
}

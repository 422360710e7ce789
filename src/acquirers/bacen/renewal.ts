import type { Clock } from '../../lib/clock.ts'
import { readTlsMaterial, type TlsFiles, type TlsMaterial, toDay } from './certificate.ts'

export type Log = {
  info(data: object, message: string): void
  warn(data: object, message: string): void
}

/** The files of mutual TLS as they are now on the disk. */
export type LiveTls = {
  /** Another object after each renewal. */
  current(): TlsMaterial
  /** Looks whether the files have changed. A new one that cannot be used is told of, and the old one stays. */
  refresh(): void
  close(): void
}

const lookEveryMs = 30_000
const dayMs = 24 * 60 * 60_000
/** How long before its end a certificate is warned of: PSPs take days to make another. */
export const warnDays = 30

/**
 * Keeps what was read, and looks for a renewed file every half a minute.
 *
 * @throws {TlsFault} when the files cannot be used from the start
 */
export function openTls(files: TlsFiles, { clock, log, name }: { clock: Clock; log: Log; name: string }): LiveTls {
  let material = readTlsMaterial(files, clock)
  let warnedOn = ''
  let fault = ''
  warnOfEnd()
  const timer = setInterval(refresh, lookEveryMs)
  timer.unref()
  return { current: () => material, refresh, close: () => clearInterval(timer) }

  function refresh() {
    try {
      const fresh = readTlsMaterial(files, clock)
      fault = ''
      if (fresh.content !== material.content) {
        material = fresh
        log.info({ acquirer: name, expiresAt: fresh.expiresAt }, 'an acquirer’s certificate was renewed')
      }
    } catch (error) {
      const said = error instanceof Error ? error.message : String(error)
      // Once for each fault, and not at every look.
      if (said !== fault)
        log.warn(
          { acquirer: name, reason: said },
          'an acquirer’s certificate files cannot be used: those read before are kept',
        )
      fault = said
    }
    warnOfEnd()
  }

  /** Once a day. */
  function warnOfEnd() {
    const { expiresAt } = material
    const now = clock.now()
    if (!expiresAt || expiresAt.getTime() - now.getTime() > warnDays * dayMs || warnedOn === toDay(now)) return
    warnedOn = toDay(now)
    log.warn(
      { acquirer: name, expiresAt },
      'an acquirer’s certificate ends soon: get a new one from the PSP and put it in the place of the old one',
    )
  }
}

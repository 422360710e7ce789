import { X509Certificate } from 'node:crypto'
import type { ClientCertificateRule } from '../acquirers/callbacks.ts'

export type CertificateFault =
  | { reason: 'not_from_proxy'; peer: string }
  | { reason: 'no_certificate' | 'unreadable_certificate' }
  | { reason: 'expired_certificate' | 'other_certificate'; sha256: string; subject: string }

type Call = {
  /** Who opened the connection: not what a header says of it. */
  peer: string
  headers: Record<string, string | string[] | undefined>
  now: Date
}

/**
 * What is wrong with the certificate that a proxy passed on; null when nothing is. The proxy has had the caller prove it and has checked
 * who signed it; from anybody else the header is only a text.
 */
export function findCertificateFault(
  rule: ClientCertificateRule,
  isTrusted: (peer: string) => boolean,
  { peer, headers, now }: Call,
): CertificateFault | null {
  if (!isTrusted(peer)) return { reason: 'not_from_proxy', peer }
  const text = headers[rule.header]
  // What proxies leave where there is none: nothing, or the two colons of an empty item.
  if (text === undefined || text === '' || text === '::') return { reason: 'no_certificate' }
  const certificate = typeof text === 'string' ? readCertificate(text) : null
  if (!certificate) return { reason: 'unreadable_certificate' }
  const { sha256, parts, validFrom, validTo } = certificate
  const shown = { sha256, subject: parts.join(', ') }
  if (now < validFrom || now > validTo) return { reason: 'expired_certificate', ...shown }
  const isListed = rule.sha256.length === 0 || rule.sha256.includes(sha256)
  const isNamed = rule.subject.every((part) => parts.includes(part))
  return isListed && isNamed ? null : { reason: 'other_certificate', ...shown }
}

/** `parts` of the subject: `CN=psp.example.com`. */
type Certificate = { sha256: string; parts: string[]; validFrom: Date; validTo: Date }

// A PSP shows the same one in call after call, and to read it takes a tenth of a millisecond.
const known = new Map<string, Certificate>()
const knownMax = 100

function readCertificate(text: string): Certificate | null {
  const read = known.get(text) ?? parse(text)
  if (!read) return null
  if (known.size >= knownMax) known.clear()
  known.set(text, read)
  return read
}

/** As RFC 9440 has it (`:base64:`), as PEM in percent encoding (nginx' `$ssl_client_escaped_cert`), or as base64 alone. */
function parse(text: string): Certificate | null {
  try {
    const isPem = /^-----BEGIN(?: |%20)CERTIFICATE-----/.test(text)
    const [, base64] = /^:?([A-Za-z0-9+/]+={0,2}):?$/.exec(text) ?? []
    if (!isPem && base64 === undefined) return null
    const certificate = new X509Certificate(isPem ? decodeURIComponent(text) : Buffer.from(base64 ?? '', 'base64'))
    return {
      sha256: certificate.fingerprint256.replaceAll(':', '').toLowerCase(),
      parts: (certificate.subject ?? '').split('\n'),
      validFrom: new Date(certificate.validFrom),
      validTo: new Date(certificate.validTo),
    }
  } catch {
    return null
  }
}

import { X509Certificate } from 'node:crypto'
import type { ClientCertificateRule } from '../acquirers/callbacks.ts'

export type CertificateFault =
  | { reason: 'not_from_proxy'; peer: string }
  | { reason: 'no_certificate' | 'unreadable_certificate' }
  | { reason: 'expired_certificate' | 'other_certificate'; sha256: string; subject: string }

type Call = {
  /** The address that opened the connection, not one from a header. */
  peer: string
  headers: Record<string, string | string[] | undefined>
  now: Date
}

/**
 * Returns what is wrong with the certificate that a proxy passed on, or null. The proxy has verified that the caller
 * holds the key and who signed the certificate; from any other sender the header proves nothing.
 */
export function findCertificateFault(
  rule: ClientCertificateRule,
  isTrusted: (peer: string) => boolean,
  { peer, headers, now }: Call,
): CertificateFault | null {
  if (!isTrusted(peer)) return { reason: 'not_from_proxy', peer }
  const text = headers[rule.header]
  // What proxies send when there is no certificate: nothing, or the two colons of an empty item.
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

/** `parts` of the subject, such as `CN=psp.example.com`. */
type Certificate = { sha256: string; parts: string[]; validFrom: Date; validTo: Date }

// A cache: a PSP sends the same certificate in every call, and parsing it takes a tenth of a millisecond.
const known = new Map<string, Certificate>()
const knownMax = 100

function readCertificate(text: string): Certificate | null {
  const read = known.get(text) ?? parse(text)
  if (!read) return null
  if (known.size >= knownMax) known.clear()
  known.set(text, read)
  return read
}

/**
 * Accepts the format of RFC 9440 (`:base64:`), percent-encoded PEM (nginx' `$ssl_client_escaped_cert`), and bare
 * base64.
 */
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

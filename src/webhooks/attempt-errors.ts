/** Why an attempt failed. Attempts store these sentences. */
export const attemptErrors = {
  no_answer: 'No answer in time',
  redirected: 'The receiver redirected, and redirects are not followed',
  gone: 'The receiver answered 410: it accepts no more events',
  address_not_allowed: 'The address of the receiver may not be called',
  private_address: 'The address of the receiver may not be called (WEBHOOK_ALLOW_PRIVATE=true allows private hosts)',
  connection_refused: 'The connection was refused',
  connection_closed: 'The connection was closed before an answer',
  connection_timeout: 'The connection timed out',
  connection_failed: 'The connection failed',
  unreachable: 'The receiver cannot be reached',
  name_not_found: 'The host name of the receiver was not found in DNS',
  name_without_address: 'The host name of the receiver has no address in DNS',
  name_server_failed: 'The DNS server of the receiver’s domain failed',
  name_server_timeout: 'The DNS server of the receiver’s domain did not answer',
  head_too_long: 'The headers of the answer are too long',
  certificate_expired: 'The certificate of the receiver has expired',
  certificate_self_signed: 'The certificate of the receiver is self-signed',
  certificate_untrusted: 'The certificate of the receiver is signed by an authority that is not trusted',
  certificate_of_other_name: 'The certificate of the receiver is for another name',
  certificate_without_chain: 'The certificate chain of the receiver is incomplete',
  not_http: 'The answer is not HTTP',
} as const

export type AttemptErrorCode = keyof typeof attemptErrors

const codes = new Map(
  (Object.keys(attemptErrors) as AttemptErrorCode[]).map((code) => [attemptErrors[code] as string, code] as const),
)

/**
 * The code of a stored sentence. Null if the sentence gives only the HTTP status (`The receiver answered 500`) or has
 * details of its own (`The connection failed (CODE)`).
 */
export function toAttemptErrorCode(error: string | null): AttemptErrorCode | null {
  return error === null ? null : (codes.get(error) ?? null)
}

/** Whether nothing answered in time: the receiver, the host of one of its addresses, or its DNS server. */
export function isTimeout(error: string | null): boolean {
  const code = toAttemptErrorCode(error)
  return code === 'no_answer' || code === 'connection_timeout' || code === 'name_server_timeout'
}

/** Other 3xx statuses, such as 304, give no address to follow. */
const redirects = new Set([301, 302, 303, 307, 308])

export function describeStatus(status: number): string | null {
  if (status >= 200 && status < 300) return null
  if (redirects.has(status)) return attemptErrors.redirected
  return status === 410 ? attemptErrors.gone : `The receiver answered ${status}`
}

const bySystemCode: Record<string, AttemptErrorCode> = {
  ADDRESS_REFUSED: 'address_not_allowed',
  PRIVATE_ADDRESS_REFUSED: 'private_address',
  ECONNREFUSED: 'connection_refused',
  ECONNRESET: 'connection_closed',
  EHOSTUNREACH: 'unreachable',
  ENETUNREACH: 'unreachable',
  ENOTFOUND: 'name_not_found',
  ENODATA: 'name_without_address',
  EPIPE: 'connection_closed',
  ESERVFAIL: 'name_server_failed',
  ETIMEOUT: 'name_server_timeout',
  ETIMEDOUT: 'connection_timeout',
  UND_ERR_CONNECT_TIMEOUT: 'connection_timeout',
  UND_ERR_HEADERS_OVERFLOW: 'head_too_long',
  UND_ERR_SOCKET: 'connection_closed',
  CERT_HAS_EXPIRED: 'certificate_expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'certificate_self_signed',
  ERR_TLS_CERT_ALTNAME_INVALID: 'certificate_of_other_name',
  SELF_SIGNED_CERT_IN_CHAIN: 'certificate_untrusted',
  UNABLE_TO_GET_ISSUER_CERT: 'certificate_untrusted',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'certificate_untrusted',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'certificate_without_chain',
}

/** Why there was no answer: one of the sentences above, with the system's error code if that is not a known one. */
export function describeFailure(error: unknown): string {
  const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
  const known = bySystemCode[code]
  if (known) return attemptErrors[known]
  if (code.startsWith('HPE_')) return attemptErrors.not_http
  return /^[A-Z_]{3,40}$/.test(code) ? `${attemptErrors.connection_failed} (${code})` : attemptErrors.connection_failed
}

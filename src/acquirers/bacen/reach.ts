const noTls = 'its server speaks no TLS: does the address need http:// or another port?'

/** The meaning of connection errors, by the codes of Node.js, OpenSSL and undici. */
const sentences: Record<string, string> = {
  ECONNREFUSED: 'no server listens at its address',
  ENOTFOUND: 'its host name is unknown',
  EAI_AGAIN: 'its host name cannot be resolved now',
  EHOSTUNREACH: 'there is no route to it',
  ENETUNREACH: 'there is no route to it',
  ECONNRESET: 'it broke the connection; some servers do so when a client certificate is missing or wrong',
  UND_ERR_SOCKET: 'it broke the connection; some servers do so when a client certificate is missing or wrong',
  EPIPE: 'it broke the connection',
  UND_ERR_CONNECT_TIMEOUT: 'it did not accept the connection in time',
  ETIMEDOUT: 'it did not accept the connection in time',
  UND_ERR_RES_EXCEEDED_MAX_SIZE: 'its answer was far too long and was cut off',
  CERT_HAS_EXPIRED: 'its own certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another host name',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is not of a trusted authority: set tls.caFile if the PSP has its own',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is not of a trusted authority: set tls.caFile if the PSP has its own',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    'its certificate is not of a trusted authority: set tls.caFile if the PSP has its own',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    'its certificate is not of a trusted authority: set tls.caFile if the PSP has its own',
  EPROTO: 'its server speaks no TLS, or no safe version of it',
  ERR_SSL_WRONG_VERSION_NUMBER: noTls,
  // The same since OpenSSL 3.5, which Node.js 24 has.
  ERR_SSL_PACKET_LENGTH_TOO_LONG: noTls,
}

/** Alerts with which a PSP refuses the client's certificate. */
const alerts: [RegExp, string][] = [
  [/ALERT_CERTIFICATE_REQUIRED/, 'it requires a client certificate: set tls'],
  [/ALERT_CERTIFICATE_EXPIRED/, 'it refused our certificate, which has expired'],
  [/ALERT_UNKNOWN_CA/, 'it refused our certificate, whose authority it does not know'],
  [/ALERT_CERTIFICATE_REVOKED/, 'it refused our certificate, which was revoked'],
  [/ALERT_(BAD_CERTIFICATE|CERTIFICATE_UNKNOWN|ACCESS_DENIED|DECRYPT_ERROR)/, 'it refused our certificate'],
  // Servers with TLS 1.2 also send it when no certificate was sent.
  [
    /ALERT_HANDSHAKE_FAILURE/,
    'it refused the TLS handshake: it may require a client certificate (set tls), or refuse ours',
  ],
]

/** True when another client certificate might help. */
export function isCertificateError(code: string): boolean {
  return alerts.some(([alert]) => alert.test(code)) || code === 'ECONNRESET' || code === 'UND_ERR_SOCKET'
}

/** `its own certificate has expired (CERT_HAS_EXPIRED)`; an unknown code alone; null for an error without a code. */
export function explainReach(error: unknown): string | null {
  const code = codeOf(error)
  if (code === null) return null
  const sentence = sentences[code] ?? alerts.find(([alert]) => alert.test(code))?.[1]
  return sentence ? `${sentence} (${code})` : code
}

export function codeOf(error: unknown): string | null {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null
}

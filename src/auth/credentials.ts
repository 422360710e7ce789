import type { FastifyRequest } from 'fastify'
import { OAuthError } from './grant.ts'

export type Credentials = {
  clientId: string
  clientSecret: string
  /** Null if the client requests no particular scopes. */
  scope: string | null
  /** Whether they came as HTTP Basic: a refusal then has the header `WWW-Authenticate`. */
  isBasic: boolean
}

/** Far more than any valid form. The limit applies before we know who the caller is. */
export const formBytesMax = 8 * 1024
/** Far more characters than any identifier or secret has. */
const lengthMax = 512

/** Reads the form in the body of a GET, which the API allows beside POST. */
export async function readForm(request: FastifyRequest): Promise<URLSearchParams> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request.raw) {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes > formBytesMax) {
      // The rest of the body is not read, so the connection cannot be reused.
      throw new OAuthError(413, 'invalid_request', 'The form may have 8 KiB at most.', { connection: 'close' })
    }
  }
  if (bytes > 0 && !/^application\/x-www-form-urlencoded *(;|$)/i.test(request.headers['content-type'] ?? '')) {
    throw wrongMediaType()
  }
  return parseForm(Buffer.concat(chunks).toString('utf8'))
}

/**
 * @throws {OAuthError} 400 if a percent sign is not followed by two hexadecimal digits, or the bytes are not UTF-8:
 *   `URLSearchParams` would accept them as other characters
 */
export function parseForm(text: string): URLSearchParams {
  try {
    decodeForm(text)
  } catch {
    throw new OAuthError(400, 'invalid_request', 'The form is not well-formed: a percent sign is sent as %25.')
  }
  return new URLSearchParams(text)
}

/**
 * Reads client credentials from the form or from HTTP Basic.
 *
 * @throws {OAuthError} 400, saying what is missing, repeated, or in the wrong place
 */
export function readCredentials(request: FastifyRequest, form: URLSearchParams): Credentials {
  if (request.url.includes('?')) {
    throw new OAuthError(
      400,
      'invalid_request',
      'Send nothing in the address: a secret in it ends up in logs. Send the credentials in the form body or as HTTP Basic, and change the secret if it was in the address.',
    )
  }
  const seen = new Set<string>()
  for (const name of form.keys()) {
    if (seen.has(name))
      throw new OAuthError(400, 'invalid_request', `A field of the form is repeated: ${safeName(name)}.`)
    seen.add(name)
  }
  const grantType = form.get('grant_type')
  if (grantType !== null && grantType !== 'client_credentials') {
    throw new OAuthError(400, 'unsupported_grant_type', 'The grant_type is client_credentials.')
  }
  const basic = readBasic(request.headers.authorization)
  if (basic && form.has('client_secret')) {
    throw new OAuthError(400, 'invalid_request', 'Send the credentials once: in the form body or as HTTP Basic.')
  }
  const clientId = basic?.clientId ?? form.get('client_id')
  const clientSecret = basic?.clientSecret ?? form.get('client_secret')
  if (!clientId || !clientSecret) {
    const missing = [clientId ? null : 'client_id', clientSecret ? null : 'client_secret'].filter(
      (name) => name !== null,
    )
    throw new OAuthError(400, 'invalid_request', `Missing: ${missing.join(', ')}.`)
  }
  if (basic && form.has('client_id') && form.get('client_id') !== clientId) {
    throw new OAuthError(400, 'invalid_request', 'The client_id of the form is not that of HTTP Basic.')
  }
  if (clientId.length > lengthMax || clientSecret.length > lengthMax || /\p{Cc}/u.test(clientId + clientSecret)) {
    throw new OAuthError(400, 'invalid_request', 'The credentials are malformed.')
  }
  // A scope that contains no name counts as absent.
  const scope = form.get('scope')?.replace(/^[\s,]+|[\s,]+$/g, '') || null
  return { clientId, clientSecret, scope, isBasic: basic !== null }
}

export function wrongMediaType(): OAuthError {
  return new OAuthError(400, 'invalid_request', 'Send the credentials as application/x-www-form-urlencoded.')
}

/** RFC 6749 §2.3.1: both parts are form-encoded within Basic. */
function readBasic(header: string | undefined): { clientId: string; clientSecret: string } | null {
  if (header === undefined) return null
  const encoded = /^Basic +([A-Za-z0-9+/_-]+=*) *$/i.exec(header)?.[1]
  const pair = encoded ? /^([^:]*):(.*)$/s.exec(Buffer.from(encoded, 'base64').toString('utf8')) : null
  try {
    if (pair) return { clientId: decodeForm(pair[1] ?? ''), clientSecret: decodeForm(pair[2] ?? '') }
  } catch {
    // Not well-formed: the same error as for a header without a pair.
  }
  throw new OAuthError(
    400,
    'invalid_request',
    'The Authorization header is not HTTP Basic with a client_id and a client_secret.',
  )
}

function decodeForm(text: string): string {
  return decodeURIComponent(text.replaceAll('+', ' '))
}

function safeName(name: string): string {
  return /^\w{1,64}$/.test(name) ? name : 'an unknown one'
}

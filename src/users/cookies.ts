import { parseCookie, stringifySetCookie } from 'cookie'
import type { FastifyReply, FastifyRequest } from 'fastify'

/**
 * Scripts cannot read it, other sites cannot have it sent, and over https no other host can set it (the name begins
 * with __Host-). `lax`: it is also sent when another site sends the browser back to us by a link or a redirect.
 */
export function appendCookie(
  reply: FastifyReply,
  baseUrl: string,
  {
    name,
    value,
    maxAgeSeconds,
    sameSite = 'strict',
  }: { name: string; value: string; maxAgeSeconds: number; sameSite?: 'strict' | 'lax' },
): void {
  const cookie = { name, value, maxAge: maxAgeSeconds, path: '/', secure: isSecure(baseUrl) }
  void reply.header('set-cookie', stringifySetCookie({ ...cookie, httpOnly: true, sameSite }))
}

/** The value of one of our cookies, a secret of 256 bits unless another form is named; null if there is none. */
export function readCookieNamed(request: FastifyRequest, name: string, form = /^[\w-]{43}$/): string | null {
  const value = parseCookie(request.headers.cookie ?? '')[name]
  return value !== undefined && form.test(value) ? value : null
}

export function isSecure(baseUrl: string): boolean {
  return baseUrl.startsWith('https:')
}

/** Whether a page of another site sent the request. Clients that are not browsers send no such header. */
export function isFromOtherSite({ headers }: FastifyRequest): boolean {
  const site = headers['sec-fetch-site']
  return site !== undefined && site !== 'same-origin' && site !== 'none'
}

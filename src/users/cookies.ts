import { parseCookie, stringifySetCookie } from 'cookie'
import type { FastifyReply, FastifyRequest } from 'fastify'

/**
 * Scripts cannot read it, other sites cannot have it sent, and over https no other host can set it (the name begins
 * with __Host-).
 */
export function appendCookie(
  reply: FastifyReply,
  baseUrl: string,
  { name, value, maxAgeSeconds }: { name: string; value: string; maxAgeSeconds: number },
): void {
  const cookie = { name, value, maxAge: maxAgeSeconds, path: '/', secure: isSecure(baseUrl) }
  void reply.header('set-cookie', stringifySetCookie({ ...cookie, httpOnly: true, sameSite: 'strict' }))
}

/** The value of one of our cookies, a secret of 256 bits; null if there is none of that form. */
export function readCookieNamed(request: FastifyRequest, name: string): string | null {
  const value = parseCookie(request.headers.cookie ?? '')[name]
  return value !== undefined && /^[\w-]{43}$/.test(value) ? value : null
}

export function isSecure(baseUrl: string): boolean {
  return baseUrl.startsWith('https:')
}

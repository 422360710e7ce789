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
  const attributes = ['Path=/', 'HttpOnly', 'SameSite=Strict', `Max-Age=${maxAgeSeconds}`]
  if (isSecure(baseUrl)) attributes.push('Secure')
  void reply.header('set-cookie', [`${name}=${value}`, ...attributes].join('; '))
}

/** The value of one of our cookies, a secret of 256 bits; null if there is none of that form. */
export function readCookieNamed(request: FastifyRequest, name: string): string | null {
  for (const part of request.headers.cookie?.split(';') ?? []) {
    const [key, value = ''] = part.trim().split('=', 2)
    if (key === name && /^[\w-]{43}$/.test(value)) return value
  }
  return null
}

export function isSecure(baseUrl: string): boolean {
  return baseUrl.startsWith('https:')
}

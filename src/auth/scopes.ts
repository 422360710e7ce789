/** What a token may be allowed to do. Every business route names one. */
export const scopes = [
  'transaction.read',
  'transaction.write',
  'refund.write',
  'withdrawal.read',
  'withdrawal.write',
  'balance.read',
  'webhook.read',
  'webhook.write',
] as const

export type Scope = (typeof scopes)[number]

/** Reads scopes separated by spaces (OAuth) or commas (the service interface). Null when one of them is none of ours. */
export function parseScopes(text: string): Scope[] | null {
  const named = text.split(/[\s,]+/).filter((name) => name !== '')
  const known = named.filter(isScope)
  return known.length === named.length ? [...new Set(known)] : null
}

export function isScope(name: unknown): name is Scope {
  return scopes.some((scope) => scope === name)
}

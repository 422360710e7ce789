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

/** As the API's page shows them. */
export const scopeDescriptions: Record<Scope, string> = {
  'transaction.read': 'Read transactions',
  'transaction.write': 'Create transactions',
  'refund.write': 'Refund transactions',
  'withdrawal.read': 'Read withdrawals',
  'withdrawal.write': 'Create, confirm and cancel withdrawals',
  'balance.read': 'Read the balance and the statement',
  'webhook.read': 'Read events and webhook deliveries',
  'webhook.write': 'Send webhooks again',
}

/** Reads scopes separated by spaces (OAuth) or commas (the service interface). Null when one of them is none of ours. */
export function parseScopes(text: string): Scope[] | null {
  const named = text.split(/[\s,]+/).filter((name) => name !== '')
  const known = named.filter(isScope)
  return known.length === named.length ? [...new Set(known)] : null
}

export function isScope(name: unknown): name is Scope {
  return scopes.some((scope) => scope === name)
}

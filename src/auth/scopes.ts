/** The permissions of a token. Every route of the merchants' API requires one. */
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

/** As shown in the API reference. */
export const scopeDescriptions: Record<Scope, string> = {
  'transaction.read': 'Read transactions',
  'transaction.write': 'Create and cancel transactions',
  'refund.write': 'Refund transactions',
  'withdrawal.read': 'Read withdrawals',
  'withdrawal.write': 'Create, confirm and cancel withdrawals',
  'balance.read': 'Read the balance and the statement',
  'webhook.read': 'Read events, webhook deliveries and webhook endpoints',
  'webhook.write': 'Send webhooks again, and change webhook endpoints',
}

/** Parses scopes separated by spaces (OAuth) or commas (the API's own form). Null if one of them is unknown. */
export function parseScopes(text: string): Scope[] | null {
  const named = text.split(/[\s,]+/).filter((name) => name !== '')
  const known = named.filter(isScope)
  return known.length === named.length ? [...new Set(known)] : null
}

export function isScope(name: unknown): name is Scope {
  return scopes.some((scope) => scope === name)
}

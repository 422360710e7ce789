import type { ListedUser } from './store.ts'

export function toUserView(row: ListedUser) {
  return {
    id: row.id,
    email: row.email,
    name: row.name,
    role: row.role,
    merchant: row.client_id === null ? null : { clientId: row.client_id, name: row.merchant_name ?? row.client_id },
    hasSecondFactor: row.is_totp_confirmed,
    isFactorLocked: row.totp_locked_at !== null,
    isDisabled: row.disabled_at !== null,
    createdAt: row.created_at.toISOString(),
    seenAt: row.seen_at?.toISOString() ?? null,
  }
}

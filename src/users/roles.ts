import { type Scope, scopes } from '../auth/scopes.ts'

/** What a user may do, in addition to the scopes that merchants' tokens have as well. */
export const permissions = [
  'overview.read',
  'merchant.read',
  'withdrawal.approve',
  'infraction.read',
  'infraction.decide',
  // Write and send the defence against a dispute.
  'infraction.defend',
  'ledger.read',
  'fee.write',
  'reconciliation.read',
  'reconciliation.decide',
  'credential.write',
  'sandbox.use',
  'system.read',
  'payouts.release',
  'user.write',
  'audit.read',
  'personal_data.write',
  'report.write',
] as const

export type Permission = (typeof permissions)[number] | Scope

/** The operator's users see all merchants; a merchant's users see only their own. */
export const operatorRoles = ['admin', 'finance', 'support', 'read_only'] as const
export const merchantRoles = ['owner', 'finance', 'accountant', 'developer'] as const

export type Role = (typeof operatorRoles)[number] | (typeof merchantRoles)[number]

const everything: readonly Permission[] = [...scopes, ...permissions]
const readings = everything.filter((permission) => permission.endsWith('.read'))

const operatorPermissions: Record<(typeof operatorRoles)[number], readonly Permission[]> = {
  admin: everything,
  finance: [
    ...readings,
    'refund.write',
    'withdrawal.write',
    'withdrawal.approve',
    'infraction.decide',
    'infraction.defend',
    'fee.write',
    'reconciliation.decide',
    'payouts.release',
    'report.write',
  ],
  support: [
    'overview.read',
    'merchant.read',
    'transaction.read',
    'withdrawal.read',
    'balance.read',
    'infraction.read',
    'infraction.defend',
    'webhook.read',
    'webhook.write',
    'sandbox.use',
  ],
  read_only: readings,
}

const merchantPermissions: Record<(typeof merchantRoles)[number], readonly Permission[]> = {
  owner: [
    ...scopes,
    'overview.read',
    'infraction.read',
    'infraction.defend',
    'credential.write',
    'sandbox.use',
    'user.write',
    'report.write',
  ],
  finance: [
    'overview.read',
    'transaction.read',
    'refund.write',
    'withdrawal.read',
    'withdrawal.write',
    'balance.read',
    'infraction.read',
    'infraction.defend',
    'report.write',
  ],
  accountant: ['overview.read', 'transaction.read', 'withdrawal.read', 'balance.read', 'infraction.read'],
  developer: [
    'overview.read',
    'transaction.read',
    'transaction.write',
    'webhook.read',
    'webhook.write',
    'credential.write',
    'sandbox.use',
  ],
}

/** `finance` is a role on both sides, with different permissions. */
export function permissionsOf({ role, isOperator }: { role: Role; isOperator: boolean }): readonly Permission[] {
  const table: Partial<Record<Role, readonly Permission[]>> = isOperator ? operatorPermissions : merchantPermissions
  return table[role] ?? []
}

export function isRoleOf(role: string, isOperator: boolean): role is Role {
  return (isOperator ? operatorRoles : merchantRoles).some((known) => known === role)
}

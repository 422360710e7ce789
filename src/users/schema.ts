import { Type } from 'typebox'
import { passwordLengthMax } from './password.ts'
import { merchantRoles, operatorRoles } from './roles.ts'
import type { ListedUser } from './store.ts'

export const Email = Type.String({ format: 'email', maxLength: 255 })
/** Limits the work only: `findPasswordFault` reports the length of a new password. */
const Password = Type.String({ minLength: 1, maxLength: passwordLengthMax * 4 })
const Code = Type.String({ pattern: '^\\d{6}$', description: 'Six digits of the authenticator app' })
const Role = Type.Enum([...new Set([...operatorRoles, ...merchantRoles])])

export const SignInBody = Type.Object({ email: Email, password: Password, code: Type.Optional(Code) })

/** How people sign in here: with a password, and at the provider of this name. */
export const SignInOptions = Type.Object({
  password: Type.Boolean(),
  provider: Type.Union([Type.String(), Type.Null()]),
})
/** Null: nothing is left to do. */
export const SignedOut = Type.Object({ providerSignOutUrl: Type.Union([Type.String(), Type.Null()]) })

export const MerchantNamed = Type.Object({ clientId: Type.String(), name: Type.String() })

export const SessionView = Type.Object({
  user: Type.Object({
    id: Type.String(),
    email: Type.String(),
    name: Type.String(),
    role: Type.String(),
    merchant: Type.Union([MerchantNamed, Type.Null()]),
    permissions: Type.Array(Type.String()),
    hasPassword: Type.Boolean(),
    hasSecondFactor: Type.Boolean(),
    needsSecondFactor: Type.Boolean(),
  }),
  csrfToken: Type.String(),
})

export const PasswordBody = Type.Object({ current: Password, password: Password })
export const CodeBody = Type.Object({ code: Code })
export const OfferFactorBody = Type.Object({ password: Password })
export const RemoveFactorBody = Type.Object({ password: Password, code: Code })

export const OwnSession = Type.Object({
  id: Type.String(),
  device: Type.Union([Type.String(), Type.Null()]),
  network: Type.Union([Type.String(), Type.Null()]),
  createdAt: Type.String(),
  seenAt: Type.String(),
  isCurrent: Type.Boolean(),
})
export const FactorView = Type.Object({ secret: Type.String(), uri: Type.String(), qrCodeBase64: Type.String() })

export const TokenParams = Type.Object({ token: Type.String({ minLength: 1, maxLength: 100 }) })
export const InvitationView = Type.Object({
  email: Type.Union([Type.String(), Type.Null()]),
  role: Type.String(),
  merchantName: Type.Union([Type.String(), Type.Null()]),
  isReset: Type.Boolean(),
  needsCode: Type.Boolean(),
})
export const AcceptBody = Type.Object({
  email: Type.Optional(Email),
  name: Type.Optional(Type.String({ format: 'international-name', minLength: 1, maxLength: 255 })),
  password: Password,
  code: Type.Optional(Code),
})

export const InviteBody = Type.Object({
  email: Email,
  role: Role,
  clientId: Type.Optional(
    Type.String({ description: 'The client whose merchant the user joins; the operator if left out' }),
  ),
})
export const LinkView = Type.Object({ url: Type.String({ description: 'Single-use, valid for three days' }) })
export const UserParams = Type.Object({ id: Type.String({ format: 'uuid-any' }) })
export const ChangeUserBody = Type.Object({ role: Type.Optional(Role), isDisabled: Type.Optional(Type.Boolean()) })
export const ResetBody = Type.Object({
  secondFactor: Type.Optional(Type.Boolean({ description: 'Remove it as well' })),
})

export const UserView = Type.Object({
  id: Type.String(),
  email: Type.String(),
  name: Type.String(),
  role: Type.String(),
  merchant: Type.Union([MerchantNamed, Type.Null()]),
  hasPassword: Type.Boolean(),
  hasSecondFactor: Type.Boolean(),
  isFactorLocked: Type.Boolean(),
  isDisabled: Type.Boolean(),
  createdAt: Type.String(),
  seenAt: Type.Union([Type.String(), Type.Null()]),
})

export function toUserView(row: ListedUser) {
  return {
    id: row.id,
    email: row.email,
    name: row.name,
    role: row.role,
    merchant: row.client_id === null ? null : { clientId: row.client_id, name: row.merchant_name ?? row.client_id },
    hasPassword: row.has_password,
    hasSecondFactor: row.is_totp_confirmed,
    isFactorLocked: row.totp_locked_at !== null,
    isDisabled: row.disabled_at !== null,
    createdAt: row.created_at.toISOString(),
    seenAt: row.seen_at?.toISOString() ?? null,
  }
}

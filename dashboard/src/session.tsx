import { createContext, useContext } from 'react'
import { useSearchParams } from 'wouter'

/** The user who is signed in, as the service reports it. */
export type User = {
  id: string
  email: string
  name: string
  role: string
  /** Null for a user of the operator. */
  merchant: { clientId: string; name: string } | null
  permissions: string[]
  hasSecondFactor: boolean
  /** The role requires a second factor. No other screen is open until it is set up. */
  needsSecondFactor: boolean
}

export type Session = { user: User; csrfToken: string }

export const UserContext = createContext<User | null>(null)

export function useUser(): User {
  const user = useContext(UserContext)
  if (!user) throw new Error('Nobody is signed in')
  return user
}

/** Whether the user has a permission. The service enforces it; this only hides buttons that would be refused. */
export function useMay(): (permission: string) => boolean {
  const { permissions } = useUser()
  return (permission) => permissions.includes(permission)
}

/**
 * The merchant whose data is shown. Users of a merchant see their own. Users of the operator see the one in the
 * address, or all (null).
 */
export function useClient(): string | null {
  const { merchant } = useUser()
  const [query] = useSearchParams()
  return merchant?.clientId ?? query.get('client')
}

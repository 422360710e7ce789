import { createContext, useContext } from 'react'
import { useSearchParams } from 'wouter'

/** Who is signed in, as the service tells it. */
export type User = {
  id: string
  email: string
  name: string
  role: string
  /** Null for one of the operator's people. */
  merchant: { clientId: string; name: string } | null
  permissions: string[]
  hasSecondFactor: boolean
  /** The role needs one: nothing else is open before. */
  needsSecondFactor: boolean
}

export type Session = { user: User; csrfToken: string }

export const UserContext = createContext<User | null>(null)

export function useUser(): User {
  const user = useContext(UserContext)
  if (!user) throw new Error('Nobody is signed in')
  return user
}

/** Whether whoever is signed in may do it. The service decides; this only spares people buttons that would refuse. */
export function useMay(): (permission: string) => boolean {
  const { permissions } = useUser()
  return (permission) => permissions.includes(permission)
}

/** Which merchant is looked at: a merchant's people at their own, the operator's at the one in the address, or at all (null). */
export function useClient(): string | null {
  const { merchant } = useUser()
  const [query] = useSearchParams()
  return merchant?.clientId ?? query.get('client')
}

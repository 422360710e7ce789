import { createContext, useContext } from 'react'
import { useSearchParams } from 'wouter'
import type { User } from './types.ts'

export const UserContext = createContext<User | null>(null)

export function useUser(): User {
  const user = useContext(UserContext)
  if (!user) throw new Error('Nobody is signed in')
  return user
}

/** Whether the user has a permission. The service enforces it; this only hides what it would refuse. */
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

import { useSearchParams } from 'wouter'
import { useUser } from './session.tsx'

/** Builds the address of a screen and keeps the merchant that an operator's user has chosen. */
export function useClientLink(): (path: string, query?: Record<string, string>) => string {
  const { merchant } = useUser()
  const [params] = useSearchParams()
  const client = merchant === null ? params.get('client') : null
  return (path, query = {}) => {
    const search = new URLSearchParams({ ...query, ...(client !== null && { client }) }).toString()
    return search === '' ? path : `${path}?${search}`
  }
}

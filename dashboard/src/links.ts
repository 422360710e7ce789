import { useEffect } from 'react'
import { useSearchParams } from 'wouter'
import { useHistoryState } from 'wouter/use-browser-location'
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

/** Builds the address of a merchant's record. For an operator's user, the address also chooses that merchant. */
export function useRecordLink(): (path: string, clientId: string) => string {
  const { merchant } = useUser()
  return (path, clientId) => (merchant === null ? `${path}?${new URLSearchParams({ client: clientId })}` : path)
}

/**
 * Calls `run` when the screen was opened with this action in the history's state, as the command palette does with
 * `{ state: { action } }`.
 */
export function useRequestedAction(name: string, run: () => void): void {
  const state = useHistoryState<{ action?: string } | null>()
  const isRequested = state?.action === name
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each request
  useEffect(() => {
    if (!isRequested) return
    history.replaceState(null, '')
    run()
  }, [isRequested])
}

import { useSyncExternalStore } from 'react'
import { useUser } from './session.tsx'

/** A record that a user opened. No name or document: it stays in the tab after its record is closed. */
export type Recent = {
  userId: string
  path: string
  type: 'transaction' | 'withdrawal'
  amount: number
  createdAt: string
}

const storageName = 'guiche-recent'
const recentMax = 6
const listeners = new Set<() => void>()
let recents: readonly Recent[] = read()

function read(): Recent[] {
  try {
    return JSON.parse(sessionStorage.getItem(storageName) ?? '[]') as Recent[]
  } catch {
    return []
  }
}

function set(next: readonly Recent[]): void {
  recents = next
  sessionStorage.setItem(storageName, JSON.stringify(next))
  for (const listener of listeners) listener()
}

/** The records that the user opened last in this tab, newest first. */
export function useRecents(): readonly Recent[] {
  const { id } = useUser()
  return useSyncExternalStore(subscribe, () => recents).filter(({ userId }) => userId === id)
}

export function rememberRecent(recent: Recent): void {
  const others = recents.filter(({ userId, path }) => userId === recent.userId && path !== recent.path)
  set([recent, ...others].slice(0, recentMax))
}

/** Called at sign-out, and when nobody has continued an ended session. */
export function forgetRecents(): void {
  set([])
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

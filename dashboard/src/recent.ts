import { useSyncExternalStore } from 'react'

/** A record that was opened. No name or document: it stays in the tab after its record is closed. */
export type Recent = { path: string; type: 'transaction' | 'withdrawal'; amount: number; createdAt: string }

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

/** The records that were opened last in this tab, newest first. */
export function useRecents(): readonly Recent[] {
  return useSyncExternalStore(subscribe, () => recents)
}

export function rememberRecent(recent: Recent): void {
  set([recent, ...recents.filter(({ path }) => path !== recent.path)].slice(0, recentMax))
}

/** Called at sign-out. */
export function forgetRecents(): void {
  set([])
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

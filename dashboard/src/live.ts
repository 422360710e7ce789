import { useSyncExternalStore } from 'react'
import { isPaused, watchPaused } from './live-refresh.ts'
import type { Changed } from './types.ts'

const address = '/dashboard/api/live'
/** Pauses between attempts to connect: doubled after each failure, and random, so that browsers do not come at once. */
const pauseMs = { first: 1_000, max: 30_000 }
/** A browser opens few connections to one address: a tab that is hidden for this long closes its connection. */
const hiddenMaxMs = 60_000
/** While changes are reported, queries are still repeated this often, to find what is not reported. */
const everyMsWhileLive = 60_000

type Handlers = {
  onChanged: (message: Changed) => void
  /** From now on no change is missed; what was read before may be older. */
  onConnected: () => void
  /** The session has ended, or its user has another role. */
  onSessionChanged: () => void
}

let isConnected = false
const followers = new Set<() => void>()
const listeners = new Set<(message: Changed) => void>()
let staysWhenHidden = false
/** Opens the stream if this tab is visible; otherwise closes it after `hiddenMaxMs`. */
let adapt = () => {}

function setConnected(next: boolean): void {
  if (isConnected === next) return
  isConnected = next
  for (const notify of followers) notify()
}

/** Calls the listener with each message of the stream, until the returned function is called. */
export function onChanged(listener: (message: Changed) => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** For a tab that notifies the person: it stays connected when nobody looks at it. */
export function stayConnected(stays: boolean): void {
  staysWhenHidden = stays
  adapt()
}

/**
 * The interval at which a query is repeated: rarely while changes are reported, otherwise as given.
 *
 * @param list the first part of the keys of a list's queries: while it is paused, reported changes wait for the reader
 */
export function useRefreshEvery(ms: number, list?: string): number | false {
  return useSyncExternalStore(watchPace, () => {
    if (!isConnected) return ms
    return isPaused(list) ? false : Math.max(ms, everyMsWhileLive)
  })
}

function watchPace(notify: () => void): () => void {
  followers.add(notify)
  const stop = watchPaused(notify)
  return () => {
    followers.delete(notify)
    stop()
  }
}

/**
 * Follows the changes that the service reports, until the returned function is called. A broken connection is opened
 * again; until then the queries are repeated at their own intervals.
 */
export function followChanges({ onChanged: refresh, onConnected, onSessionChanged }: Handlers): () => void {
  let source: EventSource | null = null
  let failures = 0
  let timer: ReturnType<typeof setTimeout> | undefined
  let hiddenTimer: ReturnType<typeof setTimeout> | undefined

  function close(): void {
    clearTimeout(timer)
    source?.close()
    source = null
    setConnected(false)
  }

  function open(): void {
    close()
    source = new EventSource(address)
    source.addEventListener('connected', () => {
      failures = 0
      setConnected(true)
      onConnected()
    })
    source.addEventListener('changed', (event) => {
      const message = JSON.parse(event.data) as Changed
      refresh(message)
      for (const listener of listeners) listener(message)
    })
    source.addEventListener('role-changed', onSessionChanged)
    source.addEventListener('ended', () => {
      close()
      onSessionChanged()
    })
    // The browser's own attempts would end for good at the first refusal.
    source.addEventListener('error', () => {
      close()
      const longest = Math.min(pauseMs.first * 2 ** failures, pauseMs.max)
      failures += 1
      timer = setTimeout(open, longest * (0.5 + Math.random() / 2))
    })
  }

  function watchVisibility(): void {
    clearTimeout(hiddenTimer)
    const isHidden = document.visibilityState === 'hidden' && !staysWhenHidden
    if (isHidden) hiddenTimer = setTimeout(close, hiddenMaxMs)
    else if (source === null) open()
  }

  open()
  watchVisibility()
  adapt = watchVisibility
  document.addEventListener('visibilitychange', watchVisibility)
  addEventListener('online', watchVisibility)
  addEventListener('offline', close)
  return () => {
    document.removeEventListener('visibilitychange', watchVisibility)
    removeEventListener('online', watchVisibility)
    removeEventListener('offline', close)
    clearTimeout(hiddenTimer)
    adapt = () => {}
    close()
  }
}

import { useEffect, useMemo, useState } from 'react'
import { useLocation } from 'wouter'
import { findNotices, type NotificationChoice, words } from './find-notices.ts'
import { useFormat } from './format.ts'
import { onChanged, stayConnected } from './live.ts'
import { useUser } from './session.tsx'
import { useText } from './text.ts'
import { playTone } from './tone.ts'
import type { Changed } from './types.ts'

const initialChoice: NotificationChoice = {
  ...{ desktop: false, sound: false, payments: true, minAmount: null, approvals: true, disputes: true },
}
const listeners = new Set<() => void>()
const nameFor = (userId: string) => `guiche-notifications-${userId}`

function readChoice(userId: string): NotificationChoice {
  try {
    return { ...initialChoice, ...JSON.parse(localStorage.getItem(nameFor(userId)) ?? '{}') }
  } catch {
    return initialChoice
  }
}

/** The user's choice in this browser, the same in all tabs, and how to change it. */
export function useNotificationChoice() {
  const { id } = useUser()
  const [choice, setChoice] = useState(() => readChoice(id))
  useEffect(() => {
    const read = () => setChoice(readChoice(id))
    listeners.add(read)
    // The browser dispatches this in the other tabs.
    const readOfOtherTab = ({ key }: StorageEvent) => {
      if (key === nameFor(id)) read()
    }
    addEventListener('storage', readOfOtherTab)
    return () => {
      listeners.delete(read)
      removeEventListener('storage', readOfOtherTab)
    }
  }, [id])
  const choose = (changes: Partial<NotificationChoice>) => {
    // Read again: while the browser asked for permission, another choice may have been made.
    localStorage.setItem(nameFor(id), JSON.stringify({ ...readChoice(id), ...changes }))
    for (const notify of listeners) notify()
  }
  return { choice, choose }
}

/** Notifies the user of what they chose, in one tab of the browser. */
export function Notifications() {
  const t = useText(words)
  const format = useFormat()
  const { merchant } = useUser()
  const [, navigate] = useLocation()
  const { choice } = useNotificationChoice()
  const isOn = choice.desktop || choice.sound
  const isChosen = useOneTab(isOn)
  const notices = useMemo(
    () => (message: Changed) => findNotices(message, choice, { ...t, money: format.money, number: format.number }),
    [choice, t, format],
  )
  useEffect(() => {
    if (!isChosen) return
    stayConnected(true)
    const stop = onChanged((message) => {
      const found = notices(message)
      if (found.length > 0 && choice.sound) playTone()
      if (!choice.desktop || !('Notification' in window) || Notification.permission !== 'granted') return
      for (const { title, path, clientId } of found) {
        const shown = new Notification(title, { tag: path, icon: '/dashboard/icon-192.png' })
        shown.onclick = () => {
          focus()
          const query = merchant === null && clientId !== null ? `?${new URLSearchParams({ client: clientId })}` : ''
          navigate(path + query)
          shown.close()
        }
      }
    })
    return () => {
      stayConnected(false)
      stop()
    }
  }, [isChosen, notices, choice, merchant, navigate])
  return null
}

/** True in one of the tabs that want it: the others would repeat each notification. */
function useOneTab(isWanted: boolean): boolean {
  const [isChosen, setChosen] = useState(false)
  useEffect(() => {
    if (!isWanted) return
    // Without HTTPS a page has no locks: every tab notifies.
    if (!('locks' in navigator)) {
      setChosen(true)
      return () => setChosen(false)
    }
    const aborter = new AbortController()
    let release = () => {}
    void navigator.locks
      .request('guiche-notifications', { signal: aborter.signal }, async () => {
        setChosen(true)
        await new Promise<void>((done) => {
          release = done
        })
      })
      .catch(() => {})
    return () => {
      setChosen(false)
      release()
      aborter.abort()
    }
  }, [isWanted])
  return isChosen
}

import { useEffect, useMemo, useState } from 'react'
import { useLocation } from 'wouter'
import { useFormat } from './format.ts'
import { onChanged, stayConnected } from './live.ts'
import { useUser } from './session.tsx'
import { texts, useText } from './text.ts'
import { playTone } from './tone.ts'
import type { Changed } from './types.ts'

export const words = texts({
  en: {
    payment: (amount: string) => `Payment of ${amount}`,
    payments: (count: string) => `${count} payments`,
    paymentsAtLeast: (count: string) => `At least ${count} payments`,
    approval: 'A withdrawal is waiting for approval',
    proposal: 'An action is waiting for a second person',
    dispute: 'A payment was disputed (MED)',
  },
  pt: {
    payment: (amount: string) => `Pagamento de ${amount}`,
    payments: (count: string) => `${count} pagamentos`,
    paymentsAtLeast: (count: string) => `Pelo menos ${count} pagamentos`,
    approval: 'Um saque aguarda aprovação',
    proposal: 'Uma ação aguarda uma segunda pessoa',
    dispute: 'Um pagamento foi contestado (MED)',
  },
})

/** What a user is notified of in this browser. */
export type NotificationChoice = {
  desktop: boolean
  sound: boolean
  payments: boolean
  /** Cents. */
  minAmount: number | null
  approvals: boolean
  disputes: boolean
}

const nothing: NotificationChoice = {
  ...{ desktop: false, sound: false, payments: true, minAmount: null, approvals: true, disputes: true },
}
const listeners = new Set<() => void>()
const nameFor = (userId: string) => `guiche-notifications-${userId}`

function readChoice(userId: string): NotificationChoice {
  try {
    return { ...nothing, ...JSON.parse(localStorage.getItem(nameFor(userId)) ?? '{}') }
  } catch {
    return nothing
  }
}

/** The user's choice in this browser, and how to change it. */
export function useNotificationChoice() {
  const { id } = useUser()
  const [choice, setChoice] = useState(() => readChoice(id))
  useEffect(() => {
    const read = () => setChoice(readChoice(id))
    listeners.add(read)
    return () => {
      listeners.delete(read)
    }
  }, [id])
  const choose = (changes: Partial<NotificationChoice>) => {
    localStorage.setItem(nameFor(id), JSON.stringify({ ...choice, ...changes }))
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

type Notice = { title: string; path: string; clientId: string | null }
type Words = (typeof words)['en'] & { money: (cents: number) => string; number: (value: number) => string }

export function findNotices({ changes }: Changed, choice: NotificationChoice, t: Words): Notice[] {
  return changes.flatMap(({ kind, status, clientId, count, records }): Notice[] => {
    const [first] = records
    if (kind === 'transaction' && status === 'PAID' && choice.payments) {
      const large = records.filter(({ amount }) => amount !== null && amount >= (choice.minAmount ?? 0))
      const [one] = large
      if (!one) return []
      if (large.length === 1)
        return [{ title: t.payment(t.money(one.amount ?? 0)), path: `/transactions/${one.id}`, clientId }]
      // The newest ones only are named: of the others the amounts are not known.
      const isComplete = records.length === count
      const title = !choice.minAmount
        ? t.payments(t.number(count))
        : (isComplete ? t.payments : t.paymentsAtLeast)(t.number(large.length))
      return [{ title, path: '/transactions', clientId }]
    }
    if (kind === 'approval' && status !== 'closed' && choice.approvals)
      return [
        {
          title: status === 'proposed' ? t.proposal : t.approval,
          path: status === 'proposed' ? '/' : '/withdrawals',
          clientId,
        },
      ]
    if (kind === 'dispute' && status === 'open' && choice.disputes && first)
      return [{ title: t.dispute, path: '/disputes', clientId }]
    return []
  })
}

/** True in one of the tabs that ask: the others would repeat each notification. */
function useOneTab(isWanted: boolean): boolean {
  const [isChosen, setChosen] = useState(false)
  useEffect(() => {
    if (!isWanted) return
    // Only secure pages have locks.
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

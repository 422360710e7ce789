import { useEffect, useRef } from 'react'

/** The key that opens a screen after `g`. */
export const screenKeys: Readonly<Record<string, string>> = {
  today: 'h',
  transactions: 't',
  charge: 'c',
  links: 'b',
  withdrawals: 'w',
  disputes: 'd',
  ledger: 'l',
  month: 'm',
  reconciliation: 'r',
  webhooks: 'k',
  paymentPage: 'p',
  apiRequests: 'q',
  credentials: 'e',
  sandbox: 's',
  users: 'u',
  audit: 'a',
  personalData: 'n',
  system: 'y',
  account: 'i',
}

/** How soon the second key must follow `g`. A later one counts as a first key. */
const sequenceMs = 1_500

type Actions = {
  /** Returns whether a screen has this key. */
  openScreen: (key: string) => boolean
  openPalette: () => void
  /** Opens the list of keyboard shortcuts. */
  openSheet: () => void
}

/**
 * Listens for the keyboard shortcuts. ⌘ K and Ctrl + K always work. The others are ignored while the user types, and
 * while a dialog or a menu is open.
 */
export function useShortcuts(actions: Actions): void {
  const latest = useRef(actions)
  latest.current = actions
  useEffect(() => {
    let goAt = Number.NEGATIVE_INFINITY
    const listen = (event: KeyboardEvent) => {
      const { openScreen, openPalette, openSheet } = latest.current
      const isPalette =
        event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey
      if (isPalette) {
        event.preventDefault()
        openPalette()
      }
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isBusy(event.target)) return
      const isSecond = event.timeStamp - goAt < sequenceMs
      goAt = event.key === 'g' && !isSecond ? event.timeStamp : Number.NEGATIVE_INFINITY
      if (isSecond) {
        // A key without a screen, such as Tab or Enter, keeps its effect in the browser.
        if (!openScreen(event.key)) return
      } else if (event.key === '/') openPalette()
      else if (event.key === '?') openSheet()
      else if (event.key === 'j' || event.key === 'k') moveToRow(event.key === 'j' ? 1 : -1)
      else return
      event.preventDefault()
    }
    document.addEventListener('keydown', listen)
    return () => document.removeEventListener('keydown', listen)
  }, [])
}

/** Whether the user types, or a dialog or a menu is open. */
export function isBusy(target: EventTarget | null): boolean {
  const isTyping =
    target instanceof HTMLElement &&
    (target.isContentEditable || target.matches('input:not([type=checkbox], [type=radio]), textarea, select'))
  return isTyping || document.querySelector('[role=dialog], [role=menu]') !== null
}

/** Focuses the next or the previous row of the list; Enter then opens it. */
function moveToRow(step: 1 | -1): void {
  const rows = [...document.querySelectorAll<HTMLElement>('#content tr.link')]
  const current = rows.findIndex((row) => row.contains(document.activeElement))
  const next = current === -1 ? rows[0] : rows[current + step]
  next?.querySelector<HTMLElement>('.row-link')?.focus()
  next?.scrollIntoView({ block: 'nearest' })
}

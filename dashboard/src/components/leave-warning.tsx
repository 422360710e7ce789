import { Text } from '@mantine/core'
import { lazy, Suspense, useEffect, useState } from 'react'
import type { AroundNavHandler } from 'wouter'
import { texts, useText } from '../text.ts'

// The router imports this file on every screen: the dialog is loaded when it is needed.
const Confirm = lazy(async () => ({ default: (await import('./confirm.tsx')).Confirm }))

const words = texts({
  en: { title: 'Leave without saving?', text: 'What you have written here is not saved yet.', leave: 'Leave' },
  pt: { title: 'Sair sem salvar?', text: 'O que você escreveu aqui ainda não foi salvo.', leave: 'Sair' },
})

/** Set while a screen has text that is not saved. */
let unsaved: { address: string; ask: (go: () => void) => void } | null = null

/** For the router. Another address of the same screen, such as with a filter, keeps what was typed. */
export const confirmLeaving: AroundNavHandler = (navigate, to, options) => {
  const go = () => navigate(to, options)
  if (unsaved === null || isSameScreen(to, unsaved.address)) go()
  else unsaved.ask(go)
}

// The browser's Back button has already changed the address: it is changed back. This listener is added before the
// router's, which is added when the router is first rendered, so it can keep the event from the router.
addEventListener('popstate', (event) => {
  const to = location.href
  if (unsaved === null || isSameScreen(to, unsaved.address)) return
  event.stopImmediatePropagation()
  history.pushState(null, '', unsaved.address)
  unsaved.ask(() => history.pushState(null, '', to))
})

const isSameScreen = (to: string, address: string) => new URL(to, address).pathname === new URL(address).pathname

/** Rendered while there is text that is not saved: asks before the screen, or the page, is left. */
export function LeaveWarning() {
  const t = useText(words)
  const [leave, setLeave] = useState<(() => void) | null>(null)
  useEffect(() => {
    unsaved = { address: location.href, ask: (go) => setLeave(() => go) }
    const confirmUnload = (event: BeforeUnloadEvent) => event.preventDefault()
    addEventListener('beforeunload', confirmUnload)
    return () => {
      unsaved = null
      removeEventListener('beforeunload', confirmUnload)
    }
  }, [])
  return (
    <Suspense>
      <Confirm
        title={t.title}
        isOpen={leave !== null}
        onClose={() => setLeave(null)}
        confirm={t.leave}
        isDangerous
        action={{ isPending: false, error: null, reset: () => {}, mutate: () => leave?.() }}
      >
        <Text size="sm">{t.text}</Text>
      </Confirm>
    </Suspense>
  )
}

import { Text } from '@mantine/core'
import { useState, useSyncExternalStore } from 'react'
import { useFormat } from '../format.ts'
import { texts, useText } from '../text.ts'

const words = texts({
  en: {
    offline: 'You are offline.',
    since: (time: string) => `You are offline. This is as of ${time} and will update when the connection is back.`,
  },
  pt: {
    offline: 'Você está sem conexão.',
    since: (time: string) =>
      `Você está sem conexão. Os dados são das ${time} e serão atualizados quando a conexão voltar.`,
  },
})

/** Tells the user that the data is no longer updated. Lists and skeletons alone do not show it. */
export function OfflineBar() {
  const t = useText(words)
  const format = useFormat()
  const isOnline = useSyncExternalStore(subscribe, () => navigator.onLine)
  const [since, setSince] = useState<Date | null>(null)
  if (isOnline && since !== null) setSince(null)
  if (!isOnline && since === null) setSince(new Date())
  if (isOnline) return null
  return (
    <div role="status" className="offline">
      <Text size="sm" fw={600} ta="center">
        {since === null ? t.offline : t.since(format.time(since))}
      </Text>
    </div>
  )
}

function subscribe(listener: () => void): () => void {
  addEventListener('online', listener)
  addEventListener('offline', listener)
  return () => {
    removeEventListener('online', listener)
    removeEventListener('offline', listener)
  }
}

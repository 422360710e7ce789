import { Anchor, Text } from '@mantine/core'
import { notifyManager, type Query, useQueryClient } from '@tanstack/react-query'
import { useCallback, useState, useSyncExternalStore } from 'react'
import { useFormat } from '../format.ts'
import { texts, useText } from '../text.ts'

const words = texts({
  en: {
    offline: 'You are offline.',
    since: (time: string) => `You are offline. This is as of ${time} and will update when the connection is back.`,
    notUpdated: 'Some of the data on this screen could not be updated and may be out of date.',
    retry: 'Try again',
  },
  pt: {
    offline: 'Você está sem conexão.',
    since: (time: string) =>
      `Você está sem conexão. Os dados são das ${time} e serão atualizados quando a conexão voltar.`,
    notUpdated: 'Parte dos dados desta tela não pôde ser atualizada e pode estar desatualizada.',
    retry: 'Tentar de novo',
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
  if (isOnline) return <NotUpdated />
  return (
    <div role="status" className="offline">
      <Text size="sm" fw={600} ta="center">
        {since === null ? t.offline : t.since(format.time(since))}
      </Text>
    </div>
  )
}

/** A screen keeps its data if a later request for it fails, so this says that the data may be old. */
function NotUpdated() {
  const t = useText(words)
  const queries = useQueryClient()
  const follow = useCallback(
    (listener: () => void) => queries.getQueryCache().subscribe(notifyManager.batchCalls(listener)),
    [queries],
  )
  const isShown = useSyncExternalStore(follow, () => queries.getQueryCache().getAll().some(isNotUpdated))
  if (!isShown) return null
  return (
    <div role="status" className="offline">
      <Text size="sm" fw={600} ta="center">
        {t.notUpdated}{' '}
        <Anchor
          component="button"
          type="button"
          inherit
          c="inherit"
          underline="always"
          onClick={() => void queries.refetchQueries({ predicate: isNotUpdated })}
        >
          {t.retry}
        </Anchor>
      </Text>
    </div>
  )
}

function isNotUpdated(query: Query): boolean {
  return query.isActive() && query.state.status === 'error' && query.state.data !== undefined
}

function subscribe(listener: () => void): () => void {
  addEventListener('online', listener)
  addEventListener('offline', listener)
  return () => {
    removeEventListener('online', listener)
    removeEventListener('offline', listener)
  }
}

import { Skeleton, Stack, Text, UnstyledButton } from '@mantine/core'
import { type ReactNode, useEffect } from 'react'
import { useLocation, useSearchParams } from 'wouter'
import { useClient } from '../session.tsx'
import { texts, useText } from '../text.ts'
import { useClients } from './client-switch.tsx'
import { Empty } from './empty.tsx'
import { Page } from './page.tsx'

const words = texts({
  en: {
    title: 'Choose a merchant',
    hint: 'This screen shows one merchant. Choose one here or above, or press “/” to find any record by its id.',
  },
  pt: {
    title: 'Escolha um lojista',
    hint: 'Esta tela mostra um lojista. Escolha um aqui ou acima, ou tecle “/” para buscar qualquer registro pelo id.',
  },
})

const shownMax = 12

/** Shows a screen for one merchant, or the list of merchants while none is chosen. */
export function RequireClient({ title, children }: { title: string; children: (clientId: string) => ReactNode }) {
  const client = useClient()
  if (client !== null) return children(client)
  return (
    <Page title={title}>
      <ChooseClient selectsOnlyClient />
    </Page>
  )
}

/**
 * Lists the merchants, so that the user can choose one for the current screen.
 *
 * @param selectsOnlyClient chooses the merchant automatically if there is only one, because the screen needs one
 */
export function ChooseClient({ selectsOnlyClient = false }: { selectsOnlyClient?: boolean }) {
  const t = useText(words)
  const clients = useClients()
  const [location, navigate] = useLocation()
  const [, setQuery] = useSearchParams()
  const only = selectsOnlyClient && clients.data?.length === 1 ? clients.data[0]?.clientId : undefined
  useEffect(() => {
    if (only === undefined) return
    setQuery(
      (query) => {
        query.set('client', only)
        return query
      },
      { replace: true },
    )
  }, [only, setQuery])
  if (clients.isPending || only !== undefined) return <Skeleton height={240} />
  return (
    <div className="card">
      <Empty icon="search" title={t.title}>
        <Text size="sm" mb="md">
          {t.hint}
        </Text>
        <Stack gap={6}>
          {clients.data?.slice(0, shownMax).map(({ clientId, name }) => (
            <UnstyledButton
              key={clientId}
              className="card choice"
              onClick={() => navigate(`${location}?${new URLSearchParams({ client: clientId })}`)}
            >
              <Text size="sm" fw={600}>
                {name}
              </Text>
              <Text size="xs" c="dimmed" className="identifier">
                {clientId}
              </Text>
            </UnstyledButton>
          ))}
        </Stack>
      </Empty>
    </div>
  )
}

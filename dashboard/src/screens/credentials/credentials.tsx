import { Badge, Button, Group, SimpleGrid, Skeleton, Stack, Text } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { request } from '../../api.ts'
import { Confirm } from '../../components/confirm.tsx'
import { Copyable } from '../../components/copy.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { useMutationForm } from '../../components/form.tsx'
import { Page, Section } from '../../components/page.tsx'
import { useFormat } from '../../format.ts'
import { useClient, useMay, useUser } from '../../session.tsx'
import { useText } from '../../text.ts'
import type { ClientDetail } from '../../types.ts'
import { ClientList, ClientState, ScopeChoice } from './client-list.tsx'
import { Secrets } from './secrets.tsx'
import { Snippet } from './snippet.tsx'
import { words } from './text.ts'

/** The secrets of one API client, or the list of all API clients for users of the operator. */
export default function Credentials() {
  const client = useClient()
  return client === null ? <ClientList /> : <ClientCredentials clientId={client} />
}

function ClientCredentials({ clientId }: { clientId: string }) {
  const t = useText(words)
  const may = useMay()
  const client = useQuery({
    queryKey: ['client', clientId],
    queryFn: async () => await request<ClientDetail>('GET', `/client/${encodeURIComponent(clientId)}`),
  })
  const { data } = client
  return (
    <Page title={t.title} lead={t.lead}>
      {client.isError && <ErrorNotice error={client.error} onRetry={() => void client.refetch()} />}
      {client.isPending && <Skeleton height={320} />}
      {data && (
        <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg" style={{ alignItems: 'start' }}>
          <Stack gap="lg">
            <About client={data} />
          </Stack>
          <Stack gap="lg">
            <Secrets
              of="client"
              clientId={clientId}
              secrets={data.secrets}
              hasProvider={data.hasProvider}
              canRotate={data.scopes.every(may)}
            />
            <Secrets of="webhook" clientId={clientId} secrets={data.webhookSecrets} canRotate />
          </Stack>
        </SimpleGrid>
      )}
      {data && <Snippet clientId={clientId} />}
      {data && <RevokeSection client={data} />}
    </Page>
  )
}

function About({ client }: { client: ClientDetail }) {
  const t = useText(words)
  const format = useFormat()
  const { merchant } = useUser()
  const [isChanging, setChanging] = useState(false)
  const rows: [string, ReactNode][] = [
    [t.clientId, <Copyable key="id" value={client.clientId} label={t.clientId} />],
    [t.since, format.date(client.createdAt)],
    [t.state, <ClientState key="state" isActive={client.isActive} />],
  ]
  return (
    <Section title={client.name}>
      <Stack gap={0}>
        {rows.map(([name, value]) => (
          <Group key={name} className="row" py={8} justify="space-between" wrap="nowrap">
            <Text size="sm" c="dimmed">
              {name}
            </Text>
            <Text size="sm" component="div">
              {value}
            </Text>
          </Group>
        ))}
        <div className="row">
          <Group justify="space-between" py={8}>
            <Text size="sm" c="dimmed">
              {t.scopes}
            </Text>
            {merchant === null && (
              <Button
                size="compact-sm"
                variant="subtle"
                onClick={() => setChanging(true)}
                aria-label={`${t.changeScopes}: ${t.scopes}`}
              >
                {t.changeScopes}
              </Button>
            )}
          </Group>
          <Group gap={6}>
            {client.scopes.map((scope) => (
              <Badge key={scope} variant="light" color="gray" tt="none" radius="sm">
                {scope}
              </Badge>
            ))}
          </Group>
        </div>
      </Stack>
      {isChanging && <ChangeScopes client={client} onClose={() => setChanging(false)} />}
    </Section>
  )
}

function ChangeScopes({ client, onClose }: { client: ClientDetail; onClose: () => void }) {
  const t = useText(words)
  const queries = useQueryClient()
  // The scopes when the dialog opened. The service refuses the change if they have changed since.
  const [before] = useState(client.scopes)
  const save = useMutationForm({
    initialValues: { scopes: before },
    send: async ({ scopes }) =>
      await request('PATCH', `/client/${encodeURIComponent(client.clientId)}`, { scopes, before }),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['client', client.clientId] })
      onClose()
    },
  })
  return (
    <Confirm
      title={t.scopes}
      isOpen
      onClose={onClose}
      confirm={t.saveScopes}
      action={save}
      isReady={save.values.scopes.length > 0}
    >
      <Text size="sm">{t.scopesLead}</Text>
      <ScopeChoice {...save.input('scopes')} />
    </Confirm>
  )
}

function RevokeSection({ client }: { client: ClientDetail }) {
  const t = useText(words)
  const format = useFormat()
  const may = useMay()
  const queries = useQueryClient()
  const [dialog, setDialog] = useState<'tokens' | 'all' | null>(null)
  const revoke = useMutation({
    mutationFn: async () =>
      await request('POST', `/client/${encodeURIComponent(client.clientId)}/revocation`, {
        tokensOnly: dialog === 'tokens',
      }),
    onSuccess: async () => {
      setDialog(null)
      await Promise.all(
        [['client', client.clientId], ['clients']].map(
          async (queryKey) => await queries.invalidateQueries({ queryKey }),
        ),
      )
    },
  })
  const { tokensRefusedBefore } = client
  return (
    <Section title={t.revoke} isDangerous>
      <Text size="sm" c="dimmed" mb="sm">
        {tokensRefusedBefore === null ? t.allAccepted : t.refusedSince(format.dateTime(tokensRefusedBefore))}
      </Text>
      <Group gap="xs">
        <Button variant="default" onClick={() => setDialog('tokens')}>
          {t.revokeTokens}
        </Button>
        {!client.hasProvider && client.scopes.every(may) && (
          <Button variant="light" color="red" onClick={() => setDialog('all')}>
            {t.revokeAll}
          </Button>
        )}
      </Group>
      <Confirm
        title={dialog === 'all' ? t.revokeAll : t.revokeTokens}
        isOpen={dialog !== null}
        onClose={() => setDialog(null)}
        confirm={dialog === 'all' ? t.revokeAll : t.revokeTokens}
        isDangerous
        action={revoke}
      >
        <Text size="sm">{dialog === 'all' ? t.revokeAllLead(client.name) : t.revokeTokensLead(client.name)}</Text>
      </Confirm>
    </Section>
  )
}

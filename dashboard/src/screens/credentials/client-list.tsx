import { Badge, Button, Checkbox, type CheckboxGroupProps, SimpleGrid, Stack, Text, TextInput } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { request } from '../../api.ts'
import { Confirm } from '../../components/confirm.tsx'
import { Empty } from '../../components/empty.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { useMutationForm } from '../../components/form.tsx'
import { IconOf } from '../../components/icons.tsx'
import { useMerchants } from '../../components/merchant-switch.tsx'
import { Page } from '../../components/page.tsx'
import { RecordTable } from '../../components/record-table.tsx'
import { SecretsModal } from '../../components/secrets-modal.tsx'
import { useFormat } from '../../format.ts'
import { fold } from '../../palette/matches.ts'
import { useText } from '../../text.ts'
import type { NewClient } from '../../types.ts'
import { words } from './text.ts'

const shownMax = 50

/** All API clients, for users of the operator. */
export function ClientList() {
  const t = useText(words)
  const format = useFormat()
  const clients = useMerchants()
  const [search, setSearch] = useState('')
  const [isAdding, setAdding] = useState(false)
  const [created, setCreated] = useState<NewClient | null>(null)
  const found = clients.data?.filter(({ name, clientId }) => fold(`${name} ${clientId}`).includes(fold(search.trim())))
  return (
    <Page title={t.title} lead={t.lead} actions={<Button onClick={() => setAdding(true)}>{t.add}</Button>}>
      <TextInput
        aria-label={t.search}
        placeholder={t.search}
        leftSection={<IconOf name="search" size={16} />}
        value={search}
        onChange={(event) => setSearch(event.currentTarget.value)}
        maw={420}
      />
      {clients.isLoadingError ? (
        <ErrorNotice error={clients.error} onRetry={() => void clients.refetch()} />
      ) : (
        <RecordTable
          label={t.title}
          rows={found?.slice(0, shownMax)}
          keyOf={({ clientId }) => clientId}
          hrefOf={({ clientId }) => `/credentials?${new URLSearchParams({ client: clientId })}`}
          columns={[
            {
              name: t.name,
              cell: ({ name, clientId }) => (
                <>
                  <Text size="sm" fw={600}>
                    {name}
                  </Text>
                  <Text size="xs" c="dimmed" className="identifier">
                    {clientId}
                  </Text>
                </>
              ),
            },
            {
              name: t.since,
              isHiddenOnPhone: true,
              cell: ({ createdAt }) => <Text size="sm">{format.date(createdAt)}</Text>,
            },
            { name: t.state, cell: ({ isActive }) => <ClientState isActive={isActive} /> },
          ]}
          empty={
            search === '' ? (
              <Empty icon="credentials" title={t.none}>
                {t.noneHint}
              </Empty>
            ) : (
              <Empty icon="search" title={t.noneFound} />
            )
          }
        />
      )}
      {found && found.length > shownMax && (
        <Text size="sm" c="dimmed">
          {t.shown(format.number(shownMax), format.number(found.length))}
        </Text>
      )}
      {isAdding && (
        <Add
          onClose={() => setAdding(false)}
          onCreated={(one) => {
            setAdding(false)
            setCreated(one)
          }}
        />
      )}
      <SecretsModal title={t.created} secrets={created && toSecrets(created, t)} onDone={() => setCreated(null)} />
    </Page>
  )
}

function toSecrets(created: NewClient, t: (typeof words)['en']): Record<string, string> {
  return {
    [t.clientId]: created.clientId,
    ...(created.clientSecret !== undefined && { [t.secrets]: created.clientSecret }),
    ...(created.webhookSecret !== undefined && { [t.webhookSecrets]: created.webhookSecret }),
  }
}

export function ClientState({ isActive }: { isActive: boolean }) {
  const t = useText(words)
  return (
    <Badge variant="light" color={isActive ? 'teal' : 'red'} tt="none" radius="sm">
      {isActive ? t.active : t.revoked}
    </Badge>
  )
}

export const scopes = [
  ...['transaction.read', 'transaction.write', 'refund.write', 'withdrawal.read'],
  ...['withdrawal.write', 'balance.read', 'webhook.read', 'webhook.write'],
]

export function ScopeChoice(input: Omit<CheckboxGroupProps, 'children'>) {
  const t = useText(words)
  return (
    <Checkbox.Group {...input} label={t.scopes}>
      <SimpleGrid cols={{ base: 1, xs: 2 }} spacing={8} mt={6}>
        {scopes.map((scope) => (
          <Checkbox key={scope} value={scope} label={scope} />
        ))}
      </SimpleGrid>
    </Checkbox.Group>
  )
}

function Add({ onClose, onCreated }: { onClose: () => void; onCreated: (created: NewClient) => void }) {
  const t = useText(words)
  const queries = useQueryClient()
  const add = useMutationForm({
    initialValues: { name: '', clientId: '', scopes },
    send: async ({ name, clientId, scopes: granted }) =>
      await request<NewClient>('POST', '/client', {
        name: name.trim(),
        scopes: granted,
        ...(clientId.trim() !== '' && { clientId: clientId.trim() }),
      }),
    onSuccess: async (created) => {
      await queries.invalidateQueries({ queryKey: ['clients'] })
      onCreated(created)
    },
  })
  const { name, clientId, scopes: granted } = add.values
  const idInput = add.input('clientId')
  // The form asks for a client id only if an external provider manages the clients, which the refusal says.
  const needsClientId = idInput.error !== undefined || clientId !== ''
  return (
    <Confirm
      title={t.add}
      isOpen
      onClose={onClose}
      confirm={t.make}
      action={add}
      isReady={name.trim() !== '' && granted.length > 0}
    >
      <Stack>
        <Text size="sm">{t.addLead}</Text>
        <TextInput {...add.input('name')} label={t.name} required maxLength={255} />
        <TextInput
          {...idInput}
          label={t.clientId}
          description={t.addOfProvider}
          display={needsClientId ? undefined : 'none'}
        />
        <ScopeChoice {...add.input('scopes')} />
      </Stack>
    </Confirm>
  )
}

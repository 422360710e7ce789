import type { WebhookEndpoint } from '@guiche/sdk'
import { Alert, Badge, Button, Group, MultiSelect, Select, Skeleton, Stack, Text, TextInput } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import { fieldErrorsOf, guiche } from '../../api.ts'
import { Confirm } from '../../components/confirm.tsx'
import { Empty } from '../../components/empty.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { useMutationForm } from '../../components/form.tsx'
import { SecretsModal } from '../../components/secrets-modal.tsx'
import { useFormat } from '../../format.ts'
import { newUuid } from '../../idempotency.ts'
import { useClientLink } from '../../links.ts'
import { useMay } from '../../session.tsx'
import { useText } from '../../text.ts'
import { endpointWords } from './endpoint-text.ts'
import { eventTypes } from './state.tsx'
import { TestAnswer } from './test-answer.tsx'

/** In `WebhookEndpoint.eventTypes`: the endpoint receives all types of events. */
const all = '*'

type DialogName = 'edit' | 'test' | 'rotate' | 'enable' | 'disable' | 'delete'
type Dialog = { name: DialogName; endpoint: WebhookEndpoint }

/**
 * The id of each endpoint's next secret, by the endpoint's id, until the rotation succeeds: after a lost answer,
 * another attempt repeats the same rotation. The ids are kept outside of the components, so that this also holds after
 * the user has opened another screen.
 */
const secretIds = new Map<string, string>()

function secretIdOf(endpointId: string): string {
  const id = secretIds.get(endpointId) ?? newUuid()
  secretIds.set(endpointId, id)
  return id
}

/** The addresses that the merchant registered: add, edit, test, rotate the secret, enable, disable, delete. */
export function Endpoints({ client }: { client: string }) {
  const t = useText(endpointWords)
  const may = useMay()
  const [dialog, setDialog] = useState<Dialog | 'add' | null>(null)
  const [secret, setSecret] = useState<string | null>(null)
  const endpoints = useQuery({
    queryKey: ['endpoints', client],
    queryFn: async () => await guiche.webhookEndpoints.list({ perPage: 100 }).all(),
    refetchInterval: 10_000,
  })
  const close = () => setDialog(null)
  const show = (created: string) => {
    close()
    setSecret(created)
  }
  if (endpoints.isLoadingError) return <ErrorNotice error={endpoints.error} onRetry={() => void endpoints.refetch()} />
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Text size="sm" c="dimmed">
          {t.lead}
        </Text>
        {may('credential.write') && <Button onClick={() => setDialog('add')}>{t.add}</Button>}
      </Group>
      {endpoints.isPending && <Skeleton height={160} />}
      {endpoints.data?.length === 0 && (
        <div className="card">
          <Empty icon="webhooks" title={t.none} guide="webhooks">
            {t.noneHint}
          </Empty>
        </div>
      )}
      {endpoints.data?.map((endpoint) => (
        <Endpoint key={endpoint.id} endpoint={endpoint} onOpen={(name) => setDialog({ endpoint, name })} />
      ))}
      {dialog === 'add' && <Edit client={client} endpoint={null} onClose={close} onCreated={show} />}
      {dialog !== null && dialog !== 'add' && <Open client={client} {...dialog} onClose={close} onCreated={show} />}
      <SecretsModal
        title={t.newSecret}
        secrets={secret === null ? null : { [t.newSecret]: secret }}
        onDone={() => setSecret(null)}
      />
    </Stack>
  )
}

type DialogProps = { client: string; onClose: () => void; onCreated: (secret: string) => void }

function Open({ name, ...props }: Dialog & DialogProps) {
  if (name === 'edit') return <Edit {...props} />
  if (name === 'test') return <Test {...props} />
  return name === 'rotate' ? <Rotate {...props} /> : <Change {...props} name={name} />
}

function Endpoint({ endpoint, onOpen }: { endpoint: WebhookEndpoint; onOpen: (name: DialogName) => void }) {
  const t = useText(endpointWords)
  const format = useFormat()
  const may = useMay()
  const toLink = useClientLink()
  const { id, url, description, enabled, disabledReason, disabledAt, failingSince } = endpoint
  const isAll = endpoint.eventTypes.includes(all)
  const buttons: DialogName[] = ['test', 'edit', 'rotate', enabled ? 'disable' : 'enable', 'delete']
  return (
    <section className="card" aria-label={url} style={{ padding: 'var(--mantine-spacing-md)' }}>
      <Group justify="space-between" wrap="nowrap" align="flex-start">
        <div style={{ minWidth: 0 }}>
          <Text size="sm" fw={600} className="identifier">
            {url}
          </Text>
          <Text size="xs" c="dimmed" title={isAll ? undefined : endpoint.eventTypes.join(', ')}>
            {description !== '' && `${description} · `}
            {isAll ? t.allEvents : t.some(format.number(endpoint.eventTypes.length))}
          </Text>
        </div>
        <Badge
          variant="light"
          color={enabled ? 'teal' : 'red'}
          tt="none"
          radius="sm"
          style={{ minWidth: 'max-content' }}
        >
          {enabled ? t.enabled : t.disabled}
        </Badge>
      </Group>
      {disabledReason !== null && disabledAt !== null && (
        <Alert color={disabledReason === 'request' ? 'gray' : 'red'} mt="sm">
          {t.since(t.reasons[disabledReason], format.dateTime(disabledAt))}
        </Alert>
      )}
      {enabled && failingSince !== null && (
        <Alert color="orange" mt="sm">
          {t.failing(format.dateTime(failingSince))}
        </Alert>
      )}
      <Group gap="xs" mt="sm" role="group" aria-label={t.actions}>
        <Button size="compact-sm" variant="default" component={Link} href={toLink('/webhooks', { endpointId: id })}>
          {t.deliveries}
        </Button>
        {may('credential.write') &&
          buttons.map((name) => (
            <Button
              key={name}
              size="compact-sm"
              variant={name === 'delete' ? 'light' : 'default'}
              {...(name === 'delete' && { color: 'red' })}
              onClick={() => onOpen(name)}
            >
              {t[name]}
            </Button>
          ))}
      </Group>
    </section>
  )
}

function useRefresh(client: string): () => Promise<void> {
  const queries = useQueryClient()
  return async () => await queries.invalidateQueries({ queryKey: ['endpoints', client] })
}

/** Adds an endpoint, or edits one. */
function Edit({ client, endpoint, onClose, onCreated }: DialogProps & { endpoint: WebhookEndpoint | null }) {
  const t = useText(endpointWords)
  const refresh = useRefresh(client)
  const save = useMutationForm({
    initialValues: {
      url: endpoint?.url ?? '',
      description: endpoint?.description ?? '',
      eventTypes: endpoint?.eventTypes.filter((type) => type !== all) ?? [],
    },
    send: async ({ url, description, eventTypes: chosen }) => {
      const body = { url: url.trim(), description, eventTypes: chosen.length === 0 ? [all] : chosen } as Parameters<
        typeof guiche.webhookEndpoints.create
      >[0]
      if (endpoint === null) return await guiche.webhookEndpoints.create(body)
      return { ...(await guiche.webhookEndpoints.update(endpoint.id, body)), secret: null }
    },
    onSuccess: async ({ secret }) => {
      await refresh()
      if (secret === null) onClose()
      else onCreated(secret)
    },
  })
  return (
    <Confirm
      title={endpoint === null ? t.add : t.edit}
      isOpen
      onClose={onClose}
      confirm={endpoint === null ? t.add : t.save}
      action={save}
      isReady={save.values.url.trim() !== ''}
    >
      <TextInput {...save.input('url')} label={t.url} required type="url" placeholder="https://" maxLength={2048} />
      <TextInput {...save.input('description')} label={t.description} description={t.descriptionHint} maxLength={255} />
      <MultiSelect
        {...save.input('eventTypes')}
        label={t.filter}
        description={t.filterHint}
        data={eventTypes}
        searchable
        clearable
      />
    </Confirm>
  )
}

function Change({
  client,
  endpoint,
  name,
  onClose,
}: DialogProps & { endpoint: WebhookEndpoint; name: 'enable' | 'disable' | 'delete' }) {
  const t = useText(endpointWords)
  const refresh = useRefresh(client)
  const change = useMutation({
    mutationFn: async () => {
      if (name === 'delete') await guiche.webhookEndpoints.delete(endpoint.id)
      else await guiche.webhookEndpoints.update(endpoint.id, { enabled: name === 'enable' })
    },
    onSuccess: async () => {
      await refresh()
      onClose()
    },
  })
  return (
    <Confirm title={t[name]} isOpen onClose={onClose} confirm={t[name]} isDangerous={name !== 'enable'} action={change}>
      <Text size="sm" className="identifier">
        {endpoint.url}
      </Text>
      <Text size="sm">{t[`${name}Lead`]}</Text>
    </Confirm>
  )
}

function Rotate({ client, endpoint, onClose, onCreated }: DialogProps & { endpoint: WebhookEndpoint }) {
  const t = useText(endpointWords)
  const refresh = useRefresh(client)
  const rotate = useMutationForm({
    initialValues: { overlapHours: '24' },
    send: async ({ overlapHours }) => {
      const body = { overlapHours: Number(overlapHours), secretId: secretIdOf(endpoint.id) }
      return await guiche.webhookEndpoints.rotateSecret(endpoint.id, body).catch((error: unknown) => {
        // The secret of the lost answer has been replaced since, so the next attempt is another rotation.
        if (fieldErrorsOf(error).some(({ field }) => field === 'secretId')) secretIds.delete(endpoint.id)
        throw error
      })
    },
    onSuccess: async ({ secret }) => {
      secretIds.delete(endpoint.id)
      await refresh()
      onCreated(secret)
    },
  })
  return (
    <Confirm
      title={t.rotate}
      isOpen
      onClose={onClose}
      confirm={t.rotate}
      isDangerous={rotate.values.overlapHours === '0'}
      action={rotate}
    >
      <Text size="sm">{t.rotateLead}</Text>
      <Select
        {...rotate.input('overlapHours')}
        label={t.overlap}
        data={['0', '1', '24', '168'].map((value) => ({ value, label: t.overlaps[value] ?? value }))}
        allowDeselect={false}
      />
    </Confirm>
  )
}

/** Sends a test and shows the receiver's answer at once. */
function Test({ endpoint, onClose }: DialogProps & { endpoint: WebhookEndpoint }) {
  const t = useText(endpointWords)
  const test = useMutation({ mutationFn: async () => await guiche.webhookEndpoints.test(endpoint.id) })
  const { data } = test
  return (
    <Confirm title={t.test} isOpen onClose={onClose} confirm={data ? t.testAgain : t.test} action={test}>
      <Text size="sm" className="identifier">
        {endpoint.url}
      </Text>
      <Text size="sm">{t.testLead}</Text>
      {data && <TestAnswer of={data} />}
    </Confirm>
  )
}

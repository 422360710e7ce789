import { Alert, Button, Group, Image, PasswordInput, Stack, Text, TextInput } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { request } from '../../api.ts'
import { Confirm } from '../../components/confirm.tsx'
import { Copyable } from '../../components/copy.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { ActionForm, useMutationForm } from '../../components/form.tsx'
import { Page, Section } from '../../components/page.tsx'
import { useFormat } from '../../format.ts'
import { useUser } from '../../session.tsx'
import { useText } from '../../text.ts'
import type { NewSecondFactor, SignedInSession } from '../../types.ts'
import { NotificationSection } from './notify.tsx'
import { words } from './text.ts'

/** The user's own password, second factor, notifications and sessions. */
export default function Account() {
  const t = useText(words)
  const user = useUser()
  return (
    <Page title={t.title} lead={`${user.name} · ${user.email}`}>
      <Stack gap="lg" maw={560}>
        {user.needsSecondFactor && (
          <Alert color="orange" title={t.needed}>
            {t.neededLead}
          </Alert>
        )}
        {!user.hasPassword && <Alert color="gray">{t.ofProvider}</Alert>}
        {user.hasPassword && !user.needsSecondFactor && <Password />}
        {user.hasPassword && <SecondFactor isOn={user.hasSecondFactor} />}
        {!user.needsSecondFactor && <NotificationSection />}
        <Sessions />
      </Stack>
    </Page>
  )
}

const ownSessions = { queryKey: ['own-sessions'] }

function Password() {
  const t = useText(words)
  const queries = useQueryClient()
  const change = useMutationForm({
    initialValues: { current: '', password: '' },
    send: async (values) => await request('PUT', '/password', values),
    onSuccess: async () => {
      change.clear()
      await queries.invalidateQueries(ownSessions)
    },
  })
  return (
    <Section title={t.password}>
      <ActionForm
        action={change}
        buttons={
          <Group>
            <Button type="submit" loading={change.isPending}>
              {t.change}
            </Button>
          </Group>
        }
      >
        <Text size="sm" c="dimmed">
          {t.passwordLead}
        </Text>
        <PasswordInput {...change.input('current')} label={t.current} autoComplete="current-password" required />
        <PasswordInput
          {...change.input('password')}
          label={t.next}
          description={t.rule}
          autoComplete="new-password"
          required
        />
        {change.isSuccess && (
          <Alert color="teal" role="status">
            {t.changed}
          </Alert>
        )}
      </ActionForm>
    </Section>
  )
}

function SecondFactor({ isOn }: { isOn: boolean }) {
  const t = useText(words)
  const queries = useQueryClient()
  const renew = async () => {
    await queries.refetchQueries({ queryKey: ['session'] })
    await queries.invalidateQueries(ownSessions)
  }
  const [dialog, setDialog] = useState<'add' | 'remove' | null>(null)
  const enrol = useMutationForm({
    initialValues: { password: '' },
    send: async (values) => await request<NewSecondFactor>('POST', '/second-factor', values),
    onSuccess: () => {
      setDialog(null)
      enrol.clear()
    },
  })
  const confirm = useMutationForm({
    initialValues: { code: '' },
    send: async (values) => await request('PUT', '/second-factor', values),
    onSuccess: async () => {
      enrol.reset()
      confirm.clear()
      await renew()
    },
  })
  const remove = useMutationForm({
    initialValues: { password: '', code: '' },
    send: async (values) => await request('DELETE', '/second-factor', values),
    onSuccess: async () => {
      setDialog(null)
      remove.clear()
      await renew()
    },
  })
  const codeInput = { label: t.code, inputMode: 'numeric', autoComplete: 'one-time-code', maxLength: 6 } as const
  return (
    <Section title={t.factor}>
      <Stack>
        <Text size="sm" c="dimmed">
          {t.factorLead}
        </Text>
        {isOn && (
          <Group justify="space-between">
            <Text size="sm" fw={600}>
              {t.isOn}
            </Text>
            <Button variant="light" color="red" onClick={() => setDialog('remove')}>
              {t.remove}
            </Button>
          </Group>
        )}
        {!isOn && !enrol.data && (
          <Group>
            <Button onClick={() => setDialog('add')}>{t.add}</Button>
          </Group>
        )}
        {!isOn && enrol.data && (
          <ActionForm
            action={confirm}
            buttons={
              <Group>
                <Button type="submit" loading={confirm.isPending} disabled={confirm.values.code.length !== 6}>
                  {t.confirm}
                </Button>
              </Group>
            }
          >
            <Text size="sm">{t.scan}</Text>
            <Image
              src={enrol.data.qrCodeBase64}
              alt={t.factor}
              w={180}
              h={180}
              style={{ imageRendering: 'pixelated', background: '#fff' }}
            />
            <div>
              <Text size="xs" c="dimmed">
                {t.key}
              </Text>
              <Copyable value={enrol.data.secret} label={t.key} />
            </div>
            <TextInput {...confirm.input('code')} {...codeInput} required />
          </ActionForm>
        )}
      </Stack>
      <Confirm
        title={t.add}
        isOpen={dialog === 'add'}
        onClose={() => setDialog(null)}
        confirm={t.proceed}
        action={enrol}
        isReady={enrol.values.password !== ''}
      >
        <Text size="sm">{t.addLead}</Text>
        <PasswordInput {...enrol.input('password')} label={t.current} autoComplete="current-password" data-autofocus />
      </Confirm>
      <Confirm
        title={t.remove}
        isOpen={dialog === 'remove'}
        onClose={() => setDialog(null)}
        confirm={t.remove}
        isDangerous
        action={remove}
        isReady={remove.values.password !== '' && remove.values.code.length === 6}
      >
        <Text size="sm">{t.removeLead}</Text>
        <PasswordInput {...remove.input('password')} label={t.current} autoComplete="current-password" />
        <TextInput {...remove.input('code')} {...codeInput} />
      </Confirm>
    </Section>
  )
}

/** The user's sessions, with buttons to end them. */
function Sessions() {
  const t = useText(words)
  const { hasPassword } = useUser()
  const format = useFormat()
  const queries = useQueryClient()
  const sessions = useQuery({
    ...ownSessions,
    queryFn: async () => (await request<{ data: SignedInSession[] }>('GET', '/own-session')).data,
  })
  const end = useMutation({
    mutationFn: async (id: string | null) =>
      await request('DELETE', id === null ? '/own-session' : `/own-session/${id}`),
    onSettled: async () => await queries.invalidateQueries(ownSessions),
  })
  return (
    <Section
      title={t.sessions}
      aside={
        sessions.data && sessions.data.length > 1 ? (
          <Button variant="default" size="xs" loading={end.isPending} onClick={() => end.mutate(null)}>
            {t.endOthers}
          </Button>
        ) : undefined
      }
    >
      <Text size="sm" c="dimmed" mb="xs">
        {hasPassword ? t.sessionsLead : t.sessionsLeadOfProvider}
      </Text>
      {sessions.isError && <ErrorNotice error={sessions.error} onRetry={() => void sessions.refetch()} />}
      {end.isError && <ErrorNotice error={end.error} />}
      {sessions.data?.map(({ id, device, network, createdAt, seenAt, isCurrent }) => (
        <Group key={id} className="row" py="xs" justify="space-between" gap="sm" component="article">
          <div style={{ minWidth: 0 }}>
            <Text size="sm" fw={600}>
              {device ?? t.unknownDevice}
              {isCurrent && ` · ${t.thisOne}`}
            </Text>
            <Text size="xs" c="dimmed">
              {[
                network,
                t.since(format.dateTime(createdAt)),
                ...(isCurrent ? [] : [t.lastUsed(format.fromNow(seenAt))]),
              ]
                .filter((part) => part !== null)
                .join(' · ')}
            </Text>
          </div>
          {!isCurrent && (
            <Button
              size="xs"
              variant="default"
              onClick={() => end.mutate(id)}
              aria-label={t.endOf(device ?? t.unknownDevice)}
            >
              {t.end}
            </Button>
          )}
        </Group>
      ))}
    </Section>
  )
}

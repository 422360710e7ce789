import { Alert, Button, Group, Image, PasswordInput, Stack, Text, TextInput } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ask, faultsOf } from '../../api.ts'
import { Confirm } from '../../components/confirm.tsx'
import { Copyable } from '../../components/copy.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { Page, Section } from '../../components/page.tsx'
import { useFormat } from '../../format.ts'
import { useUser } from '../../session.tsx'
import { useText } from '../../text.ts'
import type { OfferedFactor, SignedInSession } from '../../types.ts'
import { words } from './text.ts'

/** The user's own password, second factor and sessions. */
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
        {!user.needsSecondFactor && <Password />}
        <SecondFactor isOn={user.hasSecondFactor} />
        <Sessions />
      </Stack>
    </Page>
  )
}

function Password() {
  const t = useText(words)
  const [current, setCurrent] = useState('')
  const [password, setPassword] = useState('')
  const change = useMutation({
    mutationFn: async () => await ask('PUT', '/password', { current, password }),
    onSuccess: () => {
      setCurrent('')
      setPassword('')
    },
  })
  const faults = faultsOf(change.error)
  return (
    <Section title={t.password}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          change.mutate()
        }}
      >
        <Stack>
          <Text size="sm" c="dimmed">
            {t.passwordLead}
          </Text>
          <PasswordInput
            label={t.current}
            autoComplete="current-password"
            required
            value={current}
            error={faults.current}
            onChange={(event) => setCurrent(event.currentTarget.value)}
          />
          <PasswordInput
            label={t.next}
            description={t.rule}
            autoComplete="new-password"
            required
            value={password}
            error={faults.password}
            onChange={(event) => setPassword(event.currentTarget.value)}
          />
          {change.isError && Object.keys(faults).length === 0 && <ErrorNotice error={change.error} />}
          {change.isSuccess && (
            <Alert color="teal" role="status">
              {t.changed}
            </Alert>
          )}
          <Group>
            <Button type="submit" loading={change.isPending}>
              {t.change}
            </Button>
          </Group>
        </Stack>
      </form>
    </Section>
  )
}

function SecondFactor({ isOn }: { isOn: boolean }) {
  const t = useText(words)
  const queries = useQueryClient()
  const [code, setCode] = useState('')
  const [isRemoving, setRemoving] = useState(false)
  const [password, setPassword] = useState('')
  const renew = async () => await queries.refetchQueries({ queryKey: ['session'] })
  const [isAdding, setAdding] = useState(false)
  const offer = useMutation({
    mutationFn: async () => await ask<OfferedFactor>('POST', '/second-factor', { password }),
    onSuccess: () => {
      setAdding(false)
      setPassword('')
    },
  })
  const confirm = useMutation({
    mutationFn: async () => await ask('PUT', '/second-factor', { code }),
    onSuccess: async () => {
      offer.reset()
      setCode('')
      await renew()
    },
  })
  const remove = useMutation({
    mutationFn: async () => await ask('DELETE', '/second-factor', { password, code }),
    onSuccess: async () => {
      setRemoving(false)
      setPassword('')
      setCode('')
      await renew()
    },
  })
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
            <Button variant="light" color="red" onClick={() => setRemoving(true)}>
              {t.remove}
            </Button>
          </Group>
        )}
        {!isOn && !offer.data && (
          <Group>
            <Button onClick={() => setAdding(true)}>{t.add}</Button>
          </Group>
        )}
        {!isOn && offer.data && (
          <form
            onSubmit={(event) => {
              event.preventDefault()
              confirm.mutate()
            }}
          >
            <Stack>
              <Text size="sm">{t.scan}</Text>
              <Image
                src={offer.data.qrCodeBase64}
                alt={t.factor}
                w={180}
                h={180}
                style={{ imageRendering: 'pixelated', background: '#fff' }}
              />
              <div>
                <Text size="xs" c="dimmed">
                  {t.key}
                </Text>
                <Copyable value={offer.data.secret} label={t.key} />
              </div>
              <TextInput
                label={t.code}
                inputMode="numeric"
                autoComplete="one-time-code"
                maxLength={6}
                required
                value={code}
                error={faultsOf(confirm.error).code}
                onChange={(event) => setCode(event.currentTarget.value)}
              />
              <Group>
                <Button type="submit" loading={confirm.isPending} disabled={code.length !== 6}>
                  {t.confirm}
                </Button>
              </Group>
            </Stack>
          </form>
        )}
      </Stack>
      <Confirm
        title={t.add}
        isOpen={isAdding}
        onClose={() => setAdding(false)}
        confirm={t.proceed}
        isPending={offer.isPending}
        isReady={password !== ''}
        error={faultsOf(offer.error).password ? null : offer.error}
        onConfirm={() => offer.mutate()}
      >
        <Text size="sm">{t.addLead}</Text>
        <PasswordInput
          label={t.current}
          autoComplete="current-password"
          data-autofocus
          value={password}
          error={faultsOf(offer.error).password}
          onChange={(event) => setPassword(event.currentTarget.value)}
        />
      </Confirm>
      <Confirm
        title={t.remove}
        isOpen={isRemoving}
        onClose={() => setRemoving(false)}
        confirm={t.remove}
        isDangerous
        isPending={remove.isPending}
        isReady={password !== '' && code.length === 6}
        error={Object.keys(faultsOf(remove.error)).length > 0 ? null : remove.error}
        onConfirm={() => remove.mutate()}
      >
        <Text size="sm">{t.removeLead}</Text>
        <PasswordInput
          label={t.current}
          autoComplete="current-password"
          value={password}
          error={faultsOf(remove.error).password}
          onChange={(event) => setPassword(event.currentTarget.value)}
        />
        <TextInput
          label={t.code}
          inputMode="numeric"
          autoComplete="one-time-code"
          maxLength={6}
          value={code}
          error={faultsOf(remove.error).code}
          onChange={(event) => setCode(event.currentTarget.value)}
        />
      </Confirm>
    </Section>
  )
}

/** The user's sessions, with buttons to end them. */
function Sessions() {
  const t = useText(words)
  const format = useFormat()
  const queries = useQueryClient()
  const sessions = useQuery({
    queryKey: ['own-sessions'],
    queryFn: async () => (await ask<{ data: SignedInSession[] }>('GET', '/own-session')).data,
  })
  const end = useMutation({
    mutationFn: async (id: string | null) => await ask('DELETE', id === null ? '/own-session' : `/own-session/${id}`),
    onSettled: async () => await queries.invalidateQueries({ queryKey: ['own-sessions'] }),
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
        {t.sessionsLead}
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

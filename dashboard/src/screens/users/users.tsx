import { Badge, Button, Checkbox, Group, Select, type SelectProps, Stack, Text, TextInput } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { request } from '../../api.ts'
import { Confirm } from '../../components/confirm.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { Empty } from '../../components/empty.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { useMutationForm } from '../../components/form.tsx'
import { useMerchants } from '../../components/merchant-switch.tsx'
import { Page } from '../../components/page.tsx'
import { RecordTable } from '../../components/record-table.tsx'
import { SecretsModal } from '../../components/secrets-modal.tsx'
import { useFormat } from '../../format.ts'
import { useRequestedAction } from '../../links.ts'
import { useUser } from '../../session.tsx'
import { useText } from '../../text.ts'
import type { Person, SignInOptions } from '../../types.ts'
import { words } from './text.ts'

const rolesOf = {
  operator: ['admin', 'finance', 'support', 'read_only'],
  merchant: ['owner', 'finance', 'accountant', 'developer'],
}

/** The people who can sign in: of the operator and all merchants, or of one merchant. */
export default function Users() {
  const t = useText(words)
  const format = useFormat()
  const { merchant } = useUser()
  const [changed, setChanged] = useState<Person | null>(null)
  const [isInviting, setInviting] = useState(false)
  const [link, setLink] = useState<string | null>(null)
  const people = useQuery({
    queryKey: ['users'],
    queryFn: async () => (await request<{ data: Person[] }>('GET', '/user')).data,
  })
  const options = useQuery({
    queryKey: ['sign-in'],
    queryFn: async () => await request<SignInOptions>('GET', '/sign-in'),
  })
  // Without passwords, people come from the identity provider alone, and the service refuses invitations.
  const hasPasswords = options.data?.password === true
  useRequestedAction('invite', () => setInviting(true))
  const invite = hasPasswords && <Button onClick={() => setInviting(true)}>{t.invite}</Button>
  return (
    <Page title={t.title} lead={t.lead} actions={invite}>
      {people.isLoadingError ? (
        <ErrorNotice error={people.error} onRetry={() => void people.refetch()} />
      ) : (
        <RecordTable
          label={t.title}
          rows={people.data}
          keyOf={({ id }) => id}
          empty={<Empty icon="users" title={t.none} guide="dashboard" />}
          columns={[
            {
              name: t.name,
              cell: ({ name, email }) => (
                <div style={{ minWidth: 'min(220px, 38vw)' }}>
                  <Text size="sm" fw={600}>
                    {name}
                  </Text>
                  <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
                    {email}
                  </Text>
                </div>
              ),
            },
            {
              name: t.role,
              cell: ({ role, merchant: of }) => (
                <>
                  <Text size="sm">{t.roles[role]}</Text>
                  {merchant === null && (
                    <Text size="xs" c="dimmed">
                      {of?.name ?? t.operator}
                    </Text>
                  )}
                </>
              ),
            },
            {
              name: t.factor,
              isHiddenOnPhone: true,
              cell: ({ hasPassword, hasSecondFactor, isFactorLocked }) =>
                !hasPassword ? (
                  t.atProvider
                ) : isFactorLocked ? (
                  <Badge variant="light" color="red" tt="none" radius="sm">
                    {t.locked}
                  </Badge>
                ) : hasSecondFactor ? (
                  t.yes
                ) : (
                  t.no
                ),
            },
            {
              name: t.seen,
              isHiddenOnPhone: true,
              cell: ({ seenAt }) => <Text size="sm">{seenAt === null ? t.never : format.fromNow(seenAt)}</Text>,
            },
            {
              name: t.state,
              isHiddenOnPhone: true,
              cell: ({ isDisabled }) => (
                <Badge variant="light" color={isDisabled ? 'red' : 'teal'} tt="none" radius="sm">
                  {isDisabled ? t.disabled : t.active}
                </Badge>
              ),
            },
            {
              name: '',
              isAmount: true,
              cell: (person) => (
                <Button
                  size="compact-sm"
                  variant="subtle"
                  onClick={() => setChanged(person)}
                  aria-label={t.changeOf(person.name)}
                >
                  {t.change}
                </Button>
              ),
            },
          ]}
        />
      )}
      <Invite
        isOpen={isInviting && hasPasswords}
        onClose={() => setInviting(false)}
        onCreated={(url) => {
          setInviting(false)
          setLink(url)
        }}
      />
      {changed && (
        <Change
          person={changed}
          mayReset={hasPasswords}
          onClose={() => setChanged(null)}
          onLink={(url) => {
            setChanged(null)
            setLink(url)
          }}
        />
      )}
      <SecretsModal title={t.link} secrets={link === null ? null : { [t.link]: link }} onDone={() => setLink(null)} />
    </Page>
  )
}

function Invite({
  isOpen,
  onClose,
  onCreated,
}: {
  isOpen: boolean
  onClose: () => void
  onCreated: (url: string) => void
}) {
  const t = useText(words)
  const { merchant } = useUser()
  const clients = useMerchants()
  const invite = useMutationForm({
    initialValues: { email: '', clientId: '', role: null as string | null },
    send: async ({ email, clientId, role }) =>
      await request<{ url: string }>('POST', '/user', { email, role, ...(clientId !== '' && { clientId }) }),
    onSuccess: ({ url }) => {
      invite.setValues({ email: '' })
      onCreated(url)
    },
  })
  const { email, clientId, role } = invite.values
  return (
    <Confirm
      title={t.invite}
      isOpen={isOpen}
      onClose={onClose}
      confirm={t.makeLink}
      action={invite}
      isReady={email !== '' && role !== null}
    >
      <Text size="sm">{t.inviteLead}</Text>
      <TextInput {...invite.input('email')} label={t.email} type="email" required />
      {merchant === null && (
        <Select
          {...invite.input('clientId')}
          label={t.side}
          data={[
            { value: '', label: t.operator },
            ...(clients.data ?? []).map((client) => ({ value: client.clientId, label: client.name })),
          ]}
          searchable
          limit={50}
          allowDeselect={false}
          onChange={(value) => invite.setValues({ clientId: value ?? '', role: null })}
        />
      )}
      <RoleSelect side={merchant !== null || clientId !== '' ? 'merchant' : 'operator'} {...invite.input('role')} />
    </Confirm>
  )
}

function RoleSelect({ side, ...input }: { side: keyof typeof rolesOf } & SelectProps) {
  const t = useText(words)
  const { value } = input
  const hint = side === 'merchant' && value === 'finance' ? t.financeOfMerchant : value && t.roleHints[value]
  return (
    <Select
      {...input}
      label={t.role}
      required
      allowDeselect={false}
      data={rolesOf[side].map((role) => ({ value: role, label: t.roles[role] ?? role }))}
      description={hint}
      inputWrapperOrder={['label', 'input', 'description', 'error']}
    />
  )
}

function Change({
  person,
  mayReset,
  onClose,
  onLink,
}: {
  person: Person
  mayReset: boolean
  onClose: () => void
  onLink: (url: string) => void
}) {
  const t = useText(words)
  const queries = useQueryClient()
  const [dialog, setDialog] = useState<'disable' | 'reset' | null>(null)
  const change = async (changed: { role?: string; isDisabled?: boolean }) =>
    await request('PATCH', `/user/${person.id}`, changed)
  const onSuccess = async () => {
    await queries.invalidateQueries({ queryKey: ['users'] })
    onClose()
  }
  const save = useMutationForm({ initialValues: { role: person.role }, send: change, onSuccess })
  const toggle = useMutation({ mutationFn: async () => await change({ isDisabled: !person.isDisabled }), onSuccess })
  const reset = useMutationForm({
    initialValues: { secondFactor: false },
    send: async (values) => await request<{ url: string }>('POST', `/user/${person.id}/reset`, values),
    onSuccess: ({ url }) => onLink(url),
  })
  if (dialog === 'disable') {
    return (
      <Confirm title={t.disable} isOpen onClose={onClose} confirm={t.disable} isDangerous action={toggle}>
        <Text size="sm">{t.disableLead(person.name)}</Text>
      </Confirm>
    )
  }
  if (dialog === 'reset') {
    return (
      <Confirm title={t.reset} isOpen onClose={onClose} confirm={t.makeLink} action={reset}>
        <Text size="sm">{t.resetLead(person.name)}</Text>
        {person.hasSecondFactor && <Checkbox {...reset.checkbox('secondFactor')} label={t.forgetFactor} />}
      </Confirm>
    )
  }
  return (
    <Dialog onClose={onClose} title={t.changeOf(person.name)} isPending={save.isPending || toggle.isPending}>
      <Stack>
        {person.hasPassword ? (
          <RoleSelect side={person.merchant === null ? 'operator' : 'merchant'} {...save.input('role')} />
        ) : (
          <Text size="sm">{t.roleOfProvider(t.roles[person.role] ?? person.role)}</Text>
        )}
        {(save.error ?? toggle.error) && <ErrorNotice error={save.error ?? toggle.error} />}
        <Group justify="space-between">
          <Group gap="xs">
            {mayReset && (
              <Button variant="default" onClick={() => setDialog('reset')}>
                {t.reset}
              </Button>
            )}
            {person.isDisabled ? (
              <Button variant="default" loading={toggle.isPending} onClick={() => toggle.mutate()}>
                {t.enable}
              </Button>
            ) : (
              <Button variant="light" color="red" onClick={() => setDialog('disable')}>
                {t.disable}
              </Button>
            )}
          </Group>
          {person.hasPassword && (
            <Button loading={save.isPending} disabled={save.values.role === person.role} onClick={save.mutate}>
              {t.save}
            </Button>
          )}
        </Group>
      </Stack>
    </Dialog>
  )
}

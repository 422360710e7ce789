import { Alert, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { request } from '../api.ts'
import { useFormat } from '../format.ts'
import { useMay, useUser } from '../session.tsx'
import { texts, useActorName, useText } from '../text.ts'
import type { NoticeView } from '../types.ts'

const words = texts({
  en: {
    title: 'Recent changes by other admins',
    read: 'Mark as read',
    actions: {
      'withdrawal.limits': 'changed the withdrawal limits',
      'withdrawal.limits.propose': 'proposed looser withdrawal limits',
      'user.invite': 'invited a person',
      'user.accept': 'has a new account, from the identity provider',
      'user.link': 'signed in with the identity provider for the first time',
      'user.unlink': 'separated a person from the identity provider',
      'user.change': 'changed a person’s role',
      'user.enable': 'enabled a person',
      'user.reset': 'created a password reset link',
      'user.lock_second_factor': 'entered too many wrong codes: the second factor is locked',
      'client.create': 'created an API client',
      'client.rotate-secret': 'created a client secret',
      'client.scopes': 'changed the scopes of an API client',
    } as Record<string, string>,
    of: (merchant: string) => `of ${merchant}`,
    proposedBy: (who: string) => `(proposed by ${who})`,
  },
  pt: {
    title: 'Mudanças recentes de outros administradores',
    read: 'Marcar como lido',
    actions: {
      'withdrawal.limits': 'alterou os limites de saque',
      'withdrawal.limits.propose': 'propôs limites de saque menos restritivos',
      'user.invite': 'convidou um usuário',
      'user.accept': 'tem uma conta nova, do provedor de identidade',
      'user.link': 'entrou pelo provedor de identidade pela primeira vez',
      'user.unlink': 'desvinculou um usuário do provedor de identidade',
      'user.change': 'alterou o perfil de um usuário',
      'user.enable': 'ativou um usuário',
      'user.reset': 'criou um link para redefinir uma senha',
      'user.lock_second_factor': 'errou códigos demais: o segundo fator foi bloqueado',
      'client.create': 'criou uma credencial de API',
      'client.rotate-secret': 'criou um segredo de credencial',
      'client.scopes': 'alterou os escopos de uma credencial de API',
    },
    of: (merchant: string) => `de ${merchant}`,
    proposedBy: (who: string) => `(proposto por ${who})`,
  },
})

/**
 * The newest changes to limits, people and credentials that others made within the last week, 20 at most. Shown to an
 * admin of the operator who has not marked them as read.
 */
export function Notices() {
  const t = useText(words)
  const nameOf = useActorName()
  const format = useFormat()
  const may = useMay()
  const { id: userId, email, merchant } = useUser()
  const storageName = `guiche-notices-read-${userId}`
  const [readId, setReadId] = useState(() => Number(localStorage.getItem(storageName) ?? 0))
  const notices = useQuery({
    queryKey: ['notices'],
    queryFn: async () => (await request<{ data: NoticeView[] }>('GET', '/notice')).data,
    refetchInterval: 60_000,
    enabled: may('user.write') && merchant === null,
  })
  const fresh = (notices.data ?? []).filter(({ id, actor }) => id > readId && actor !== `user:${email}`)
  const last = fresh[0]
  if (!last) return null
  return (
    <Alert
      color="blue"
      title={t.title}
      withCloseButton
      closeButtonLabel={t.read}
      onClose={() => {
        localStorage.setItem(storageName, String(last.id))
        setReadId(last.id)
      }}
    >
      {fresh.map(({ id, at, actor, action, clientName, proposedBy }) => (
        <Text key={id} size="sm" style={{ overflowWrap: 'anywhere' }}>
          <b>{nameOf(actor)}</b> {t.actions[action] ?? action} {clientName && t.of(clientName)}{' '}
          {proposedBy && t.proposedBy(nameOf(proposedBy))}{' '}
          <Text span size="xs" c="dimmed">
            {format.dateTime(at)}
          </Text>
        </Text>
      ))}
    </Alert>
  )
}

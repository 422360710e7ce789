import { ActionIcon, Group, Loader, Modal, Stack, Text, TextInput, Tooltip, UnstyledButton } from '@mantine/core'
import { useDebouncedValue, useDisclosure, useHotkeys } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useLocation } from 'wouter'
import { request, withQuery } from '../api.ts'
import { useFormat } from '../format.ts'
import { useUser } from '../session.tsx'
import { texts, useText } from '../text.ts'
import type { Hit } from '../types.ts'
import { ErrorBoundary } from './error-boundary.tsx'
import { ErrorNotice } from './error-notice.tsx'
import { IconOf } from './icons.tsx'
import { Status } from './status.tsx'

const words = texts({
  en: {
    find: 'Find a record',
    close: 'Close',
    hint: 'Complete id, txid, end-to-end id or external code',
    none: (text: string) => `No record has the id or code “${text}”. Enter the complete one.`,
    transaction: 'Transaction',
    withdrawal: 'Withdrawal',
  },
  pt: {
    find: 'Buscar um registro',
    close: 'Fechar',
    hint: 'Id, txid, end-to-end id ou código externo completo',
    none: (text: string) => `Nenhum registro tem o id ou código “${text}”. Digite-o completo.`,
    transaction: 'Transação',
    withdrawal: 'Saque',
  },
})

/** Finds a record by any of its ids or codes. */
export function SearchBox() {
  const t = useText(words)
  const [isOpen, { open, close }] = useDisclosure()
  useHotkeys([
    ['/', open],
    ['mod+K', open],
  ])
  const { permissions } = useUser()
  if (!permissions.includes('transaction.read')) return null
  return (
    <>
      <Tooltip label={`${t.find} ( / )`}>
        <ActionIcon variant="subtle" color="gray" onClick={open} aria-label={t.find}>
          <IconOf name="search" />
        </ActionIcon>
      </Tooltip>
      <Modal opened={isOpen} onClose={close} title={t.find} size="lg" closeButtonProps={{ 'aria-label': t.close }}>
        <ErrorBoundary>
          <Search onFound={close} />
        </ErrorBoundary>
      </Modal>
    </>
  )
}

function Search({ onFound }: { onFound: () => void }) {
  const t = useText(words)
  const format = useFormat()
  const { merchant } = useUser()
  const [, navigate] = useLocation()
  const [text, setText] = useState('')
  const [query] = useDebouncedValue(text.trim(), 200)
  const hits = useQuery({
    queryKey: ['search', query],
    queryFn: async () => (await request<{ data: Hit[] }>('GET', withQuery('/search', { q: query }))).data,
    enabled: query.length >= 3,
  })
  const go = ({ type, id, clientId }: Hit) => {
    const path = `/${type}s/${id}`
    navigate(merchant === null ? `${path}?${new URLSearchParams({ client: clientId })}` : path)
    onFound()
  }
  return (
    <Stack>
      <TextInput
        data-autofocus
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        aria-label={t.hint}
        placeholder={t.hint}
        leftSection={<IconOf name="search" size={16} />}
        rightSection={hits.isFetching ? <Loader size="xs" /> : null}
        onKeyDown={(event) => {
          const [first] = hits.data ?? []
          if (event.key === 'Enter' && first) go(first)
        }}
      />
      {hits.isError && <ErrorNotice error={hits.error} />}
      {hits.data?.length === 0 && (
        <Text size="sm" c="dimmed" role="status">
          {t.none(query)}
        </Text>
      )}
      {hits.data?.map((hit) => (
        <UnstyledButton key={hit.id} onClick={() => go(hit)} className="card" p="sm">
          <Group justify="space-between" wrap="nowrap">
            <div>
              <Text size="sm" fw={600}>
                {t[hit.type]} · {format.money(hit.amount)}
              </Text>
              <Text size="xs" c="dimmed">
                <span className="identifier">{hit.id}</span> · {format.dateTime(hit.createdAt)}
              </Text>
            </div>
            <Status of={hit.status} />
          </Group>
        </UnstyledButton>
      ))}
    </Stack>
  )
}

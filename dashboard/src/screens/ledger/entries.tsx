import { Button, Group, Skeleton, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { Dialog } from '../../components/dialog.tsx'
import { Empty } from '../../components/empty.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { Section } from '../../components/page.tsx'
import { Amount } from '../../components/record-table.tsx'
import { useFormat } from '../../format.ts'
import { useKeyUntilSuccess } from '../../idempotency.ts'
import { useMay } from '../../session.tsx'
import { useActorName, useText } from '../../text.ts'
import type { EntriesView } from '../../types.ts'
import { words } from './entries-text.ts'
import { EntryForm, useEntries } from './entry-form.tsx'
import { words as ledgerWords } from './text.ts'

/** Opens the form for an entry, for users with the permission. The form asks for the merchant if none is chosen. */
export function NewEntry({ clientId }: { clientId: string | null }) {
  const t = useText(words)
  const may = useMay()
  const [isOpen, setOpen] = useState(false)
  const [idempotencyKey, renewKey] = useKeyUntilSuccess()
  if (!may('reconciliation.decide') || !may('ledger.read')) return null
  return (
    <>
      <Button onClick={() => setOpen(true)}>{t.add}</Button>
      <Dialog isOpen={isOpen} onClose={() => setOpen(false)} title={t.add} closeOnClickOutside={false}>
        <EntryForm
          clientId={clientId}
          idempotencyKey={idempotencyKey}
          onPosted={() => {
            renewKey()
            setOpen(false)
          }}
        />
      </Dialog>
    </>
  )
}

/** The entries that the operator has posted, newest first. */
export function OperatorEntries({ clientId }: { clientId: string | null }) {
  const t = useText(words)
  const entries = useEntries(clientId)
  return (
    <Section title={t.title}>
      <Text size="sm" c="dimmed" mb="xs">
        {t.lead}
      </Text>
      {entries.isError && <ErrorNotice error={entries.error} onRetry={() => void entries.refetch()} />}
      {entries.isPending && <Skeleton height={80} />}
      {entries.data?.data.length === 0 && (
        <Empty icon="ledger" title={t.none} guide="ledger">
          {t.noneHint}
        </Empty>
      )}
      <Stack gap={0}>
        {entries.data?.data.map((entry) => (
          <EntryRow key={entry.id} entry={entry} />
        ))}
      </Stack>
      {entries.data && entries.data.data.length >= listedMax && (
        <Text size="xs" c="dimmed" mt="xs">
          {t.listed} <code>npx guiche ledger entries</code>
        </Text>
      )}
    </Section>
  )
}

/** The most entries that the service returns: `shownMax` in src/dashboard/entry-routes.ts. */
const listedMax = 20

function EntryRow({
  entry: { type, amount, clientName, acquirer, debit, credit, reference, description, createdBy, createdAt },
}: {
  entry: EntriesView['data'][number]
}) {
  const t = useText(words)
  const names = useText(ledgerWords).accountNames
  const nameOf = useActorName()
  const format = useFormat()
  return (
    <Group
      className="row"
      py="xs"
      justify="space-between"
      align="flex-start"
      wrap="nowrap"
      gap="md"
      component="article"
    >
      <div style={{ minWidth: 0 }}>
        <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
          <b>{t.types[type][0]}</b>
          {debit && credit && `: ${names[debit][0]} → ${names[credit][0]}`} · {clientName ?? t.operators} · {acquirer}
        </Text>
        <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
          {description}
          {reference && (
            <>
              {' '}
              <span className="identifier">{reference}</span>
            </>
          )}
        </Text>
        <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
          {t.by(nameOf(createdBy), format.dateTime(createdAt))}
        </Text>
      </div>
      <Amount of={amount} />
    </Group>
  )
}

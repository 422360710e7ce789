import {
  Alert,
  Anchor,
  Badge,
  Button,
  Checkbox,
  Group,
  List,
  SimpleGrid,
  Skeleton,
  Stack,
  Text,
  Textarea,
} from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import { request } from '../../api.ts'
import { Confirm } from '../../components/confirm.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { useMutationForm } from '../../components/form.tsx'
import { Page, Section } from '../../components/page.tsx'
import { useFormat } from '../../format.ts'
import { writeFreezeReasons } from '../../reason-texts.ts'
import { useMay } from '../../session.tsx'
import { useLanguage, useText } from '../../text.ts'
import type { SystemView } from '../../types.ts'
import { Alerts } from './alerts.tsx'
import { Cells } from './cells.tsx'
import { words } from './text.ts'

/** The health of the service, and the payout freeze. */
export default function System() {
  const t = useText(words)
  const system = useQuery({
    queryKey: ['system'],
    queryFn: async () => await request<SystemView>('GET', '/system'),
    refetchInterval: 5_000,
  })
  if (system.isLoadingError) return <ErrorNotice error={system.error} onRetry={() => void system.refetch()} />
  const { data } = system
  return (
    <Page title={t.title}>
      {data ? <PayoutFreeze payoutFreeze={data.payoutFreeze} /> : <Skeleton height={96} />}
      <Alerts />
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg" style={{ alignItems: 'start' }}>
        <Section title={t.queues}>{data ? <Queues system={data} /> : <Skeleton height={140} />}</Section>
        <Section title={t.acquirers}>{data ? <Acquirers system={data} /> : <Skeleton height={140} />}</Section>
        <Section title={t.ledger}>{data ? <Verification system={data} /> : <Skeleton height={40} />}</Section>
        <Section title={t.process}>{data ? <Process system={data} /> : <Skeleton height={100} />}</Section>
      </SimpleGrid>
      <Cells />
    </Page>
  )
}

function PayoutFreeze({ payoutFreeze }: { payoutFreeze: SystemView['payoutFreeze'] }) {
  const t = useText(words)
  const { language } = useLanguage()
  const format = useFormat()
  const may = useMay()
  const queries = useQueryClient()
  const [isConfirming, setConfirming] = useState(false)
  // As it was when the dialog opened: another person may freeze payouts or lift the freeze meanwhile.
  const [active, setActive] = useState(payoutFreeze)
  const open = () => {
    setActive(payoutFreeze)
    setConfirming(true)
  }
  const close = () => {
    setConfirming(false)
    act.clear()
  }
  const act = useMutationForm({
    initialValues: { reason: '', isChecked: false },
    send: async ({ reason, isChecked }) =>
      active
        ? await request('POST', '/payout-freeze/release', {
            reason,
            isChecked,
            engagedAt: active.engagedAt,
            reasonLength: active.reason.length,
          })
        : await request('POST', '/payout-freeze', { reason }),
    onSuccess: async () => {
      close()
      await queries.invalidateQueries({ queryKey: ['system'] })
    },
  })
  return (
    <Alert
      color={payoutFreeze ? 'red' : 'teal'}
      // It stands out only while payouts are frozen.
      variant={payoutFreeze ? 'light' : 'default'}
      title={payoutFreeze ? t.payoutsFrozen : t.payoutsEnabled}
      role="status"
    >
      <Group justify="space-between" align="flex-end">
        <div style={{ flex: 1, minWidth: 220 }}>
          <Text size="sm">
            {payoutFreeze ? t.payoutsFrozenSince(format.dateTime(payoutFreeze.engagedAt)) : t.payoutsEnabledLead}
          </Text>
          {payoutFreeze && (
            <Text size="sm" fw={600} style={{ overflowWrap: 'anywhere' }}>
              {writeFreezeReasons(payoutFreeze.reasons, language, format)}
            </Text>
          )}
        </div>
        {may('payouts.release') && (
          <Button variant={payoutFreeze ? 'filled' : 'default'} onClick={open}>
            {payoutFreeze ? t.release : t.engage}
          </Button>
        )}
      </Group>
      <Confirm
        title={active ? t.release : t.engage}
        isOpen={isConfirming}
        onClose={close}
        confirm={active ? t.release : t.engage}
        isDangerous={active === null}
        action={act}
        isReady={act.values.reason.trim().length >= 3 && (act.values.isChecked || !active?.needsDataLossChecks)}
      >
        <Text size="sm">{active ? t.releaseLead : t.engageLead}</Text>
        {active?.needsDataLossChecks && (
          <>
            <List type="ordered" size="sm" spacing="xs">
              {t.dataLossChecks.map((check) => (
                <List.Item key={check}>{check}</List.Item>
              ))}
            </List>
            <Checkbox {...act.checkbox('isChecked')} label={t.isChecked} />
          </>
        )}
        <Textarea {...act.input('reason')} label={t.reason} required />
      </Confirm>
    </Alert>
  )
}

function Queues({ system: { jobs, callbacks, deliveries } }: { system: SystemView }) {
  const t = useText(words)
  const format = useFormat()
  const age = (seconds: number) => t.oldest(format.duration(seconds * 1000))
  const since = (at: string | null) => (at === null ? '' : age(Math.max(0, (Date.now() - Date.parse(at)) / 1000)))
  const rows = [
    {
      name: t.jobs,
      due: jobs.due,
      note: jobs.due > 0 ? age(jobs.oldestDueSeconds) : '',
      failing: jobs.failing,
      givenUp: jobs.givenUp,
    },
    {
      name: t.callbacks,
      due: callbacks.due,
      note: since(callbacks.oldestDueAt),
      failing: callbacks.failing,
      givenUp: 0,
    },
    {
      name: t.deliveries,
      due: deliveries.waiting,
      note: since(deliveries.oldestWaitingAt),
      failing: deliveries.failing,
      givenUp: deliveries.givenUp,
    },
  ]
  return (
    <Stack gap={0}>
      {rows.map(({ name, due, note, failing, givenUp }) => (
        <Group key={name} className="row" py={8} justify="space-between">
          <div>
            <Text size="sm">{name}</Text>
            <Text size="xs" c="dimmed">
              {due + failing === 0 ? t.nothingDue : note}
            </Text>
          </div>
          <Group gap={6}>
            {due > 0 && <Count of={due} name={t.due} color="blue" />}
            {failing > 0 && <Count of={failing} name={t.failing} color="orange" />}
            {givenUp > 0 && <Count of={givenUp} name={t.givenUp} color="red" />}
          </Group>
        </Group>
      ))}
      {deliveries.worst.map(({ clientId, name, failing, givenUp, state }) => (
        <Group key={clientId} justify="space-between" py={4} pl="md" wrap="nowrap">
          <Anchor
            size="sm"
            component={Link}
            href={`/webhooks?${new URLSearchParams({ client: clientId, state })}`}
            style={{ minWidth: 0, overflowWrap: 'anywhere' }}
          >
            {name}
          </Anchor>
          <Group gap={6} style={{ flexShrink: 0 }}>
            {failing > 0 && <Count of={failing} name={t.failing} color="orange" />}
            {givenUp > 0 && <Count of={givenUp} name={t.givenUp} color="red" />}
          </Group>
        </Group>
      ))}
    </Stack>
  )
}

function Count({ of, name, color }: { of: number; name: string; color: string }) {
  const format = useFormat()
  return (
    <Badge variant="light" color={color} tt="none" radius="sm">
      {format.number(of)} {name}
    </Badge>
  )
}

function Acquirers({ system: { acquirers, unconfigured } }: { system: SystemView }) {
  const t = useText(words)
  const format = useFormat()
  const writeExpiry = (at: string) =>
    (Date.parse(at) > Date.now() ? t.certificate : t.certificateExpired)(format.fromNow(at))
  return (
    <Stack gap={0}>
      {acquirers.map(({ name, isAvailable, isRemote, hasPayouts, hasDisputes, certificateExpiresAt }) => (
        <Group key={name} className="row" py={8} justify="space-between">
          <div>
            <Text size="sm" fw={600}>
              {name}
            </Text>
            <Text size="xs" c="dimmed">
              {[
                isRemote && t.remote,
                hasPayouts && t.payouts,
                hasDisputes && t.disputes,
                certificateExpiresAt && writeExpiry(certificateExpiresAt),
              ]
                .filter(Boolean)
                .join(' · ')}
            </Text>
          </div>
          <Badge variant="light" color={isAvailable ? 'teal' : 'red'} tt="none" radius="sm">
            {isAvailable ? t.isAvailable : t.isNotAvailable}
          </Badge>
        </Group>
      ))}
      {unconfigured.map((name) => (
        <Group key={name} className="row" py={8} justify="space-between">
          <Text size="sm" fw={600}>
            {name}
          </Text>
          <Badge variant="light" color="red" tt="none" radius="sm">
            {t.unconfigured}
          </Badge>
        </Group>
      ))}
    </Stack>
  )
}

function Verification({ system: { verified, payoutFreeze } }: { system: SystemView }) {
  const t = useText(words)
  const format = useFormat()
  if (!verified) return <Text size="sm">{t.notVerified}</Text>
  const { all, recent } = verified
  const recently = format.fromNow(recent.at)
  return (
    <Text size="sm">
      {payoutFreeze
        ? t.whileFrozen(recently)
        : t.verified(format.fromNow(all.at), format.duration(all.tookMs), recently)}
    </Text>
  )
}

function Process({ system: { version, node, startedAt, memoryBytes } }: { system: SystemView }) {
  const t = useText(words)
  const format = useFormat()
  const rows = [
    [t.version, `${version} · Node.js ${node}`],
    [t.started, format.fromNow(startedAt)],
    [t.memory, `${format.number(Math.round(memoryBytes / 1024 / 1024))} MB`],
  ]
  return (
    <Stack gap={0}>
      {rows.map(([name, value]) => (
        <Group key={name} className="row" py={6} justify="space-between">
          <Text size="sm" c="dimmed">
            {name}
          </Text>
          <Text size="sm">{value}</Text>
        </Group>
      ))}
    </Stack>
  )
}

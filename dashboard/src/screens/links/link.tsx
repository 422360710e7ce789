import { Anchor, Button, Group, Image, SimpleGrid, Skeleton, Stack, Text } from '@mantine/core'
import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Link, useParams } from 'wouter'
import { guiche, request, withQuery } from '../../api.ts'
import { CopyTextButton } from '../../components/copy.tsx'
import { Empty } from '../../components/empty.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { type Fact, FactList } from '../../components/fact-list.tsx'
import { ActionForm, useMutationForm } from '../../components/form.tsx'
import { ListLink } from '../../components/list-link.tsx'
import { MoneyInput } from '../../components/money-input.tsx'
import { Page, Section } from '../../components/page.tsx'
import { Amount, PhoneRow, RecordList } from '../../components/record-table.tsx'
import { Status } from '../../components/status.tsx'
import { useFilters } from '../../filters.ts'
import { useFormat } from '../../format.ts'
import { useClientLink } from '../../links.ts'
import { useRefreshEvery } from '../../live.ts'
import { useMay } from '../../session.tsx'
import { useText } from '../../text.ts'
import type { LinkDetailResponse, LinkPaymentResponse } from '../../types.ts'
import { LinkForm, toBody, toValues } from './form.tsx'
import { LinkState, usePrice } from './state.tsx'
import { words } from './text.ts'

/** How often a link and its payments are read again while changes are not reported. */
const refetchMs = 10_000

export function useLinkDetail() {
  const { id } = useParams<{ id: string }>()
  return useQuery({
    queryKey: ['link', id],
    queryFn: async () => await request<LinkDetailResponse>('GET', `/link/${id}`),
    refetchInterval: useRefreshEvery(refetchMs),
  })
}

/** A payment link: where it leads, what it has received, and who paid. */
export default function LinkScreen() {
  const t = useText(words)
  const query = useLinkDetail()
  if (query.isLoadingError)
    return (
      <Page title={t.title}>
        <ErrorNotice error={query.error} onRetry={() => void query.refetch()} />
      </Page>
    )
  return query.data ? <Shown link={query.data} /> : <Skeleton height={320} />
}

function Shown({ link }: { link: LinkDetailResponse }) {
  const t = useText(words)
  const may = useMay()
  const toLink = useClientLink()
  const [isEditing, setEditing] = useState(false)
  const switching = useSwitch(link)
  return (
    <Page
      title={link.title}
      lead={link.description ?? undefined}
      actions={
        <>
          <Button component={Link} href={toLink(`/links/${link.id}/sign`)} variant="default">
            {t.counterSign}
          </Button>
          {may('transaction.write') && (
            <>
              <Button variant="default" loading={switching.isPending} onClick={() => switching.mutate()}>
                {link.isEnabled ? t.disable : t.enable}
              </Button>
              <Button variant="default" onClick={() => setEditing(true)}>
                {t.edit}
              </Button>
            </>
          )}
        </>
      }
    >
      {switching.isError && <ErrorNotice error={switching.error} />}
      <SimpleGrid cols={{ base: 1, md: link.staticCode === null ? 2 : 3 }}>
        <Conditions link={link} />
        <Share link={link} />
        {link.staticCode !== null && link.staticQrCode !== null && (
          <Section title={t.staticTitle}>
            <Stack align="center" gap="sm">
              <Code src={link.staticQrCode} alt={t.staticAlt} />
              <CopyTextButton value={link.staticCode} label={t.copyCode} />
              <Text size="sm" c="dimmed">
                {t.staticWhere}
              </Text>
              {may('sandbox.use') && <PayStatic link={link} uri={link.staticCode} />}
            </Stack>
          </Section>
        )}
      </SimpleGrid>
      <Payments link={link} />
      {isEditing && (
        <LinkForm client={link.clientId} link={link} onClose={() => setEditing(false)} onSaved={() => {}} />
      )}
    </Page>
  )
}

/** Enables or disables a link. */
function useSwitch(link: LinkDetailResponse) {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: async () =>
      await request<LinkDetailResponse>('PUT', `/link/${link.id}`, {
        ...toBody(toValues(link)),
        expiresAt: link.expiresAt,
        isEnabled: !link.isEnabled,
        changedAt: link.changedAt,
      }),
    onSuccess: async (saved) => {
      queries.setQueryData(['link', link.id], saved)
      await queries.invalidateQueries({ queryKey: ['links', link.clientId] })
    },
  })
}

function Conditions({ link }: { link: LinkDetailResponse }) {
  const t = useText(words)
  const format = useFormat()
  const priceOf = usePrice()
  const { stock, reserved } = link
  const facts: Fact[] = [
    [t.state, <LinkState key="state" of={link.state} />],
    [t.amount, priceOf(link)],
    [t.payments, format.number(link.paymentCount)],
    [t.received, <b key="received">{format.money(link.paymentAmount)}</b>],
    [
      t.stock.replace(/ \(.*/, ''),
      stock === null ? t.unlimited : t.left(format.number(Math.max(0, stock - reserved)), format.number(stock)),
    ],
    [t.expires.replace(/ \(.*/, ''), link.expiresAt === null ? t.never : format.dateTime(link.expiresAt)],
    [t.customerNeeded, link.needsCustomer ? t.yes : t.no],
  ]
  return (
    <Section title={t.terms}>
      <FactList facts={facts} />
    </Section>
  )
}

function Share({ link }: { link: LinkDetailResponse }) {
  const t = useText(words)
  return (
    <Section title={t.link}>
      <Stack align="center" gap="sm">
        <Code src={link.qrCode} alt={t.linkQr} />
        <Anchor href={link.url} target="_blank" rel="noreferrer" size="sm" style={{ overflowWrap: 'anywhere' }}>
          {link.url}
        </Anchor>
        <Group gap="xs" justify="center">
          <CopyTextButton value={link.url} label={t.copyLink} />
          <Button
            component="a"
            variant="default"
            href={`https://wa.me/?text=${encodeURIComponent(t.message(link.title, link.url))}`}
            target="_blank"
            rel="noreferrer"
          >
            {t.whatsApp}
          </Button>
        </Group>
      </Stack>
    </Section>
  )
}

/** Pays the printed code at the simulated bank, as any customer may at any time. */
function PayStatic({ link: { id, amount }, uri }: { link: LinkDetailResponse; uri: string }) {
  const t = useText(words)
  const queries = useQueryClient()
  const pay = useMutationForm({
    initialValues: { amount: null as number | null },
    send: async (values) =>
      await guiche.sandbox.pay({ uri, ...(amount === null && values.amount !== null && { amount: values.amount }) }),
    onSuccess: async () => {
      pay.setValues({ amount: null })
      await queries.invalidateQueries({ queryKey: ['link', id] })
    },
  })
  const isReady = amount !== null || pay.values.amount !== null
  return (
    <ActionForm action={pay} isReady={isReady}>
      {amount === null && <MoneyInput {...pay.input('amount')} label={t.payAmount} />}
      <Button type="submit" loading={pay.isPending} disabled={!isReady} fullWidth>
        {t.payStatic}
      </Button>
      {pay.isSuccess && (
        <Text size="sm" role="status" ta="center">
          {t.paidStatic}
        </Text>
      )}
    </ActionForm>
  )
}

function Code({ src, alt }: { src: string; alt: string }) {
  return (
    <Image
      src={src}
      alt={alt}
      w={180}
      style={{ background: '#fff', padding: 10, borderRadius: 8, imageRendering: 'pixelated' }}
    />
  )
}

function Payments({ link }: { link: LinkDetailResponse }) {
  const t = useText(words)
  const format = useFormat()
  const filters = useFilters()
  const toLink = useClientLink()
  const list = useQuery({
    queryKey: ['link', link.id, 'payments', filters.page],
    queryFn: async () =>
      await request<{ total: number; totalPages: number; data: LinkPaymentResponse[] }>(
        'GET',
        withQuery(`/link/${link.id}/payment`, { page: filters.page }),
      ),
    placeholderData: keepPreviousData,
    refetchInterval: useRefreshEvery(refetchMs),
  })
  const when = ({ paidAt, createdAt }: LinkPaymentResponse) => format.dateTime(paidAt ?? createdAt)
  return (
    <Section
      title={t.payments}
      aside={<ListLink to={toLink('/transactions', { linkId: link.id })}>{t.showAll}</ListLink>}
    >
      <RecordList
        label={t.payments}
        list={list}
        filters={filters}
        keyOf={({ id }) => id}
        hrefOf={({ id }) => toLink(`/transactions/${id}`)}
        empty={<Empty icon="link" title={t.noPayments} />}
        phoneRowOf={(row) => (
          <PhoneRow
            lines={[
              [row.payerName ?? '–', <Amount key="amount" of={row.amount} />],
              [when(row), <Status key="status" of={row.status} />],
            ]}
          />
        )}
        columns={[
          { name: t.when, cell: when },
          { name: t.payer, cell: ({ payerName }) => payerName ?? '–' },
          { name: t.by, isHiddenOnPhone: true, cell: ({ isStatic }) => (isStatic ? t.byStatic : t.byLink) },
          { name: t.state, cell: ({ status }) => <Status of={status} /> },
          { name: t.amount, isAmount: true, cell: ({ amount }) => <Amount of={amount} /> },
        ]}
      />
    </Section>
  )
}

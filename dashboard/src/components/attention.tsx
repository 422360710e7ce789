import { Anchor, Badge, Group, Skeleton, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { request, withQuery } from '../api.ts'
import { type Format, useFormat } from '../format.ts'
import { useClientLink } from '../links.ts'
import { useClient, useMay, useUser } from '../session.tsx'
import { texts, useText } from '../text.ts'
import type { AttentionItem, AttentionKind } from '../types.ts'
import { IconOf } from './icons.tsx'
import { Section } from './page.tsx'

const words = texts({
  en: {
    title: 'Needs attention',
    nothing: 'All in order: nothing needs your attention.',
    since: (time: string) => `since ${time}`,
    until: (time: string) => `until ${time}`,
    badge: (count: string) => (count === '1' ? '1 needs attention' : `${count} need attention`),
    kinds: {
      payouts_frozen: () => 'Payouts are frozen: withdrawals and refunds wait',
      books_not_balanced: () => 'The accounts do not sum to zero',
      disputes_due: (count) => `Disputes near their deadline: ${count}`,
      disputes_overdue: (count) => `Disputes that should have ended: ${count}`,
      withdrawals_to_approve: (count) => `Withdrawals that you can approve: ${count}`,
      withdrawals_to_confirm: (count) => `Possible duplicates to confirm or cancel: ${count}`,
      proposals_to_approve: (count) => `Proposals that you can approve: ${count}`,
      suspense_waits: (count) => `Payments in suspense: ${count}`,
      discrepancies_open: (count) => `Discrepancies to decide: ${count}`,
      receiver_fails: (_, name) => `Webhooks fail at ${name}`,
      endpoint_disabled: (_, name) => `Webhook endpoint disabled: ${name}`,
      alerts_open: (count) => `Open alerts: ${count}`,
      certificate_expires: (_, name) => `The certificate for ${name} expires soon or has expired`,
    } as Record<AttentionKind, (count: string, name: string) => string>,
  },
  pt: {
    title: 'Precisa de atenção',
    nothing: 'Tudo em ordem: nada precisa da sua atenção.',
    since: (time: string) => `desde ${time}`,
    until: (time: string) => `até ${time}`,
    badge: (count: string) => (count === '1' ? '1 precisa de atenção' : `${count} precisam de atenção`),
    kinds: {
      payouts_frozen: () => 'Saídas bloqueadas: saques e devoluções aguardam',
      books_not_balanced: () => 'A soma das contas não é zero',
      disputes_due: (count) => `Contestações perto do prazo: ${count}`,
      disputes_overdue: (count) => `Contestações que já deveriam ter terminado: ${count}`,
      withdrawals_to_approve: (count) => `Saques que você pode aprovar: ${count}`,
      withdrawals_to_confirm: (count) => `Possíveis duplicidades para confirmar ou cancelar: ${count}`,
      proposals_to_approve: (count) => `Propostas que você pode aprovar: ${count}`,
      suspense_waits: (count) => `Pagamentos na conta transitória: ${count}`,
      discrepancies_open: (count) => `Divergências para decidir: ${count}`,
      receiver_fails: (_, name) => `Webhooks falham em ${name}`,
      endpoint_disabled: (_, name) => `Endpoint de webhook desativado: ${name}`,
      alerts_open: (count) => `Alertas abertos: ${count}`,
      certificate_expires: (_, name) => `O certificado de ${name} vence em breve ou já venceu`,
    },
  },
})

/** The filter for the disputes that `disputes_due` counts. */
const dueSoon = { due: 'soon' }

/** The screen in the navigation, the path and the filters of the list, and whether it is urgent. */
const places: Record<AttentionKind, { screen: string; path: string; query?: Record<string, string>; isUrgent?: true }> =
  {
    payouts_frozen: { screen: 'system', path: '/system', isUrgent: true },
    books_not_balanced: { screen: 'ledger', path: '/ledger', isUrgent: true },
    disputes_due: { screen: 'disputes', path: '/disputes', query: dueSoon, isUrgent: true },
    disputes_overdue: { screen: 'disputes', path: '/disputes', query: { status: 'all' } },
    withdrawals_to_approve: { screen: 'withdrawals', path: '/withdrawals' },
    withdrawals_to_confirm: { screen: 'withdrawals', path: '/withdrawals' },
    proposals_to_approve: { screen: 'today', path: '/' },
    suspense_waits: { screen: 'reconciliation', path: '/reconciliation', query: { tab: 'suspense' } },
    discrepancies_open: { screen: 'reconciliation', path: '/reconciliation' },
    receiver_fails: { screen: 'webhooks', path: '/webhooks', query: { state: 'pending' } },
    endpoint_disabled: { screen: 'webhooks', path: '/webhooks', query: { view: 'endpoints' } },
    alerts_open: { screen: 'system', path: '/system' },
    certificate_expires: { screen: 'system', path: '/system' },
  }

/** One query for the section and for all badges. */
function useAttention() {
  const client = useClient()
  const may = useMay()
  const { needsSecondFactor } = useUser()
  return useQuery({
    queryKey: ['attention', client],
    queryFn: async () =>
      (await request<{ data: AttentionItem[] }>('GET', withQuery('/attention', { clientId: client }))).data,
    refetchInterval: 15_000,
    enabled: may('overview.read') && !needsSecondFactor,
  })
}

/** What this user can do something about, each with a link to it. */
export function NeedsAttention() {
  const t = useText(words)
  const { data, isLoadingError } = useAttention()
  // The rest of the screen is of use without it.
  if (isLoadingError) return null
  if (data === undefined) return <Skeleton height={44} />
  if (data.length === 0) {
    return (
      <Group gap={6} c="dimmed">
        <IconOf name="check" size={16} />
        <Text size="sm">{t.nothing}</Text>
      </Group>
    )
  }
  return (
    <Section title={t.title}>
      <Stack gap={0}>
        {data.map((item) => (
          <Item key={`${item.kind} ${item.clientId} ${item.name}`} item={item} />
        ))}
      </Stack>
    </Section>
  )
}

function Item({ item }: { item: AttentionItem }) {
  const t = useText(words)
  const format = useFormat()
  const toLink = useClientLink()
  const { merchant } = useUser()
  const { kind, amount, at, clientId, name } = item
  const { path, query, isUrgent } = places[kind]
  const isDeadline = kind === 'disputes_due' || kind === 'certificate_expires'
  const time = at === null ? '' : (isDeadline ? t.until : t.since)(format.dateTime(at))
  return (
    <Group className="row" py={8} justify="space-between" gap="xs">
      <Group gap={8} wrap="nowrap" style={{ minWidth: 0, flex: '1 1 260px' }}>
        <Text component="span" c={isUrgent ? 'red' : 'orange'} lh={0}>
          <IconOf name="disputes" size={16} />
        </Text>
        <Anchor
          component={Link}
          href={toLink(path, {
            ...query,
            ...(kind === 'receiver_fails' && name !== null && { receiver: name }),
            ...(merchant === null && clientId !== null && { client: clientId }),
          })}
          size="sm"
          fw={600}
          c="inherit"
          style={{ overflowWrap: 'anywhere' }}
        >
          {t.kinds[kind](shownCount(item, format), name ?? '')}
        </Anchor>
      </Group>
      <Text size="sm" c="dimmed">
        {[amount === null ? '' : format.money(amount), time].filter(Boolean).join(' · ')}
      </Text>
    </Group>
  )
}

function shownCount({ count, isMore }: Pick<AttentionItem, 'count' | 'isMore'>, format: Format): string {
  return `${format.number(count)}${isMore ? '+' : ''}`
}

/**
 * The filter with which a screen shows only what its badge counts. Only disputes near their deadline have one: if the
 * badge counts anything else, the screen opens without a filter.
 */
export function useBadgeFilter(): (screen: string) => Record<string, string> {
  const { data = [] } = useAttention()
  return (screen) => {
    const kinds = data.map(({ kind }) => kind).filter((kind) => places[kind].screen === screen)
    return kinds.length > 0 && kinds.every((kind) => kind === 'disputes_due') ? dueSoon : {}
  }
}

/** How many items of a screen in the navigation need attention. Empty if there are none. */
export function useAttentionCount(screen: string | undefined): { shown: string; isUrgent: boolean } {
  const format = useFormat()
  const items = (useAttention().data ?? []).filter(({ kind }) => places[kind].screen === screen)
  if (items.length === 0) return { shown: '', isUrgent: false }
  const isMore = items.some((item) => item.isMore)
  const shown = shownCount({ count: items.reduce((sum, { count }) => sum + count, 0), isMore }, format)
  return { shown, isUrgent: items.some(({ kind }) => places[kind].isUrgent) }
}

export function AttentionBadge({ screen }: { screen: string }) {
  const t = useText(words)
  const { shown, isUrgent } = useAttentionCount(screen)
  if (shown === '') return null
  return (
    <Badge size="sm" variant="light" color={isUrgent ? 'red' : 'orange'} radius="sm" title={t.badge(shown)}>
      {shown}
    </Badge>
  )
}

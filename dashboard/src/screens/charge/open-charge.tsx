import { Anchor, Button, Group, Image, Stack, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import { Link } from 'wouter'
import { guiche } from '../../api.ts'
import { CopyTextButton } from '../../components/copy.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { IconOf } from '../../components/icons.tsx'
import { useFormat } from '../../format.ts'
import { useClientLink } from '../../links.ts'
import { useText } from '../../text.ts'
import { playTone } from '../../tone.ts'
import { words } from './text.ts'

export type Charge = Awaited<ReturnType<typeof guiche.transactions.create>>

/** A charge that waits for its payment. At a counter, a tone and the whole screen announce the payment. */
export function OpenCharge({
  client,
  charge,
  isCounter,
  onNext,
}: {
  client: string
  charge: Charge
  isCounter: boolean
  onNext: () => void
}) {
  const t = useText(words)
  const format = useFormat()
  const toLink = useClientLink()
  const query = useQuery({
    queryKey: ['transaction', client, charge.id],
    queryFn: async () => await guiche.transactions.get(charge.id),
    refetchInterval: ({ state }) => (state.data && state.data.status !== 'PIX_QRCODE_GENERATED' ? false : 5_000),
  })
  const { refetch } = query
  useEffect(() => {
    // The payment page's own stream: it ends when nothing can change any more.
    const events = new EventSource(`${new URL(charge.paymentUrl).pathname}/events`)
    events.onmessage = () => void refetch()
    return () => events.close()
  }, [charge.paymentUrl, refetch])
  const status = query.data?.status ?? 'PIX_QRCODE_GENERATED'
  const isPaid = status === 'PAID'
  useEffect(() => {
    if (isPaid && isCounter) playTone()
  }, [isPaid, isCounter])

  const amount = format.money(charge.amount)
  const end = charge.pixResponse.expirationDate
  const until = format.isToday(end) ? format.shortTime(end) : format.dateTime(end)
  const next = (
    <Button
      size={isCounter ? 'xl' : 'sm'}
      variant={isPaid && isCounter ? 'white' : 'default'}
      onClick={onNext}
      autoFocus={isPaid}
    >
      {t.next}
    </Button>
  )
  const record = (
    <Anchor
      component={Link}
      href={toLink(`/transactions/${charge.id}`)}
      size="sm"
      c={isPaid && isCounter ? 'white' : undefined}
    >
      {t.record}
    </Anchor>
  )
  if (isPaid)
    return (
      <div className={isCounter ? 'paid-screen' : 'card paid-card'} role="status">
        <Stack align="center" gap="lg">
          <IconOf name="check" size={isCounter ? 120 : 64} />
          <Title order={2} fz={isCounter ? 56 : 28} tt="uppercase">
            {t.paid}
          </Title>
          <Text fz={isCounter ? 40 : 24} fw={600}>
            {amount}
          </Text>
          {next}
          {record}
        </Stack>
      </div>
    )
  return (
    <div className="card" style={{ padding: 'var(--mantine-spacing-lg)' }}>
      <Stack align="center" gap="md">
        <Text fz={isCounter ? 44 : 28} fw={700} lh={1.2}>
          {amount}
        </Text>
        {status === 'PIX_QRCODE_GENERATED' ? (
          <>
            <Image
              src={charge.pixResponse.qrCodeBase64}
              alt={t.scan}
              w={isCounter ? 'min(80vw, 420px)' : 240}
              style={{ background: '#fff', padding: 12, borderRadius: 8, imageRendering: 'pixelated' }}
            />
            <Text size="sm" c="dimmed" role="status">
              {t.waitingUntil(until)}
            </Text>
            <Group justify="center" gap="xs">
              <CopyTextButton value={charge.pixResponse.uri} label={t.copyCode} />
              <CopyTextButton value={charge.paymentUrl} label={t.copyLink} />
              <Button
                component="a"
                variant="default"
                href={`https://wa.me/?text=${encodeURIComponent(t.message(amount, charge.paymentUrl))}`}
                target="_blank"
                rel="noreferrer"
              >
                {t.whatsApp}
              </Button>
            </Group>
          </>
        ) : (
          <Text role="status">{t.ended}</Text>
        )}
        {query.isError && <ErrorNotice error={query.error} onRetry={() => void refetch()} />}
        <Group gap="lg">
          {next}
          {record}
        </Group>
      </Stack>
    </div>
  )
}

import { Button, CopyButton, Group } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { guiche } from '../../api.ts'
import { IconOf } from '../../components/icons.tsx'
import { texts, useText } from '../../text.ts'

const words = texts({
  en: { open: 'Payment page', copy: 'Copy link', copied: 'Link copied' },
  pt: { open: 'Página de pagamento', copy: 'Copiar link', copied: 'Link copiado' },
})

/** Opens the page where the customer pays, or copies its link. */
export function PaymentPage({ client, id }: { client: string; id: string }) {
  const t = useText(words)
  const link = useQuery({
    queryKey: ['payment-link', client, id],
    queryFn: async () => await guiche.transactions.paymentLink(id),
    // The link never changes.
    staleTime: Number.POSITIVE_INFINITY,
  })
  if (!link.data) return null
  const { url } = link.data
  return (
    <Group gap="xs" mt="md">
      <Button component="a" href={url} target="_blank" rel="noreferrer" size="xs" variant="default">
        {t.open}
      </Button>
      <CopyButton value={url}>
        {({ copied, copy }) => (
          <Button
            size="xs"
            variant="subtle"
            onClick={copy}
            leftSection={<IconOf name={copied ? 'check' : 'copy'} size={14} />}
          >
            {copied ? t.copied : t.copy}
          </Button>
        )}
      </CopyButton>
    </Group>
  )
}

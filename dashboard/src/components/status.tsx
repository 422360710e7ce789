import { Badge } from '@mantine/core'
import { texts, useText } from '../text.ts'

const words = texts<Record<string, string>>({
  en: {
    PENDING: 'Pending',
    PIX_QRCODE_GENERATED: 'Awaiting payment',
    PAID: 'Paid',
    FAILED: 'Failed',
    PROCESSING_REFUND: 'Refunding',
    REFUNDED: 'Refunded',
    BLOCKED: 'Disputed',
    PROCESSING_INFRACTION: 'Dispute accepted',
    INFRACTION: 'Returned (MED)',
    PROCESSING: 'Sending',
    PROCESSED: 'Sent',
    CANCELED: 'Canceled',
    REJECTED: 'Rejected',
  },
  pt: {
    PENDING: 'Pendente',
    PIX_QRCODE_GENERATED: 'Aguardando pagamento',
    PAID: 'Paga',
    FAILED: 'Falhou',
    PROCESSING_REFUND: 'Em devolução',
    REFUNDED: 'Valor devolvido',
    BLOCKED: 'Contestada',
    PROCESSING_INFRACTION: 'Contestação aceita',
    INFRACTION: 'Valor devolvido (MED)',
    PROCESSING: 'Enviando',
    PROCESSED: 'Enviado',
    CANCELED: 'Cancelado',
    REJECTED: 'Rejeitado',
  },
})

const colors: Record<string, string> = {
  PAID: 'teal',
  PROCESSED: 'teal',
  PIX_QRCODE_GENERATED: 'blue',
  PENDING: 'yellow',
  PROCESSING: 'yellow',
  PROCESSING_REFUND: 'yellow',
  FAILED: 'red',
  REJECTED: 'red',
  BLOCKED: 'orange',
  PROCESSING_INFRACTION: 'orange',
  INFRACTION: 'grape',
  REFUNDED: 'grape',
  CANCELED: 'gray',
}

export function useStatusName(): (status: string) => string {
  const t = useText(words)
  return (status) => t[status] ?? status
}

/** A status in words, with a color for its outcome. */
export function Status({ of: status }: { of: string }) {
  const nameOf = useStatusName()
  return (
    <Badge
      variant="light"
      color={colors[status] ?? 'gray'}
      radius="sm"
      tt="none"
      fw={600}
      style={{ flexShrink: 0, minWidth: 'max-content' }}
    >
      {nameOf(status)}
    </Badge>
  )
}

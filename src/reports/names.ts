import type { CorrectedSubject } from '../ledger/correction-texts.ts'

/** The statuses of transactions and withdrawals as people read them, in the dashboard and in reports. */
export const statusNames: Record<'en' | 'pt', Record<string, string>> = {
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
}

/** The lines of a fee statement. */
export const feeLineOperations = ['transaction', 'refund', 'withdrawal', 'fee_returned', 'fee_return_reversed'] as const
export type FeeLineOperation = (typeof feeLineOperations)[number]

export const operationNames: Record<'en' | 'pt', Record<FeeLineOperation, string>> = {
  en: {
    transaction: 'Payments',
    refund: 'Refunds',
    withdrawal: 'Withdrawals',
    fee_returned: 'Payment fees returned',
    fee_return_reversed: 'Payment fees charged again',
  },
  pt: {
    transaction: 'Pagamentos',
    refund: 'Devoluções',
    withdrawal: 'Saques',
    fee_returned: 'Tarifas de pagamento estornadas',
    fee_return_reversed: 'Tarifas de pagamento cobradas de novo',
  },
}

/** What a correction in the statement corrects. */
export const subjectNames: Record<'en' | 'pt', Record<CorrectedSubject, string>> = {
  en: { payment: 'Payment', return: 'Return', payout: 'Payout' },
  pt: { payment: 'Pagamento', return: 'Devolução', payout: 'Saque' },
}

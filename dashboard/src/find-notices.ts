import { texts } from './text.ts'
import type { Changed } from './types.ts'

export const words = texts({
  en: {
    payment: (amount: string) => `Payment of ${amount}`,
    payments: (count: string) => `${count} payments`,
    paymentsAtLeast: (count: string) => `At least ${count} payments`,
    approval: 'A withdrawal is waiting for approval',
    proposal: 'An action is waiting for a second person',
    dispute: 'A payment was disputed (MED)',
  },
  pt: {
    payment: (amount: string) => `Pagamento de ${amount}`,
    payments: (count: string) => `${count} pagamentos`,
    paymentsAtLeast: (count: string) => `Pelo menos ${count} pagamentos`,
    approval: 'Um saque aguarda aprovação',
    proposal: 'Uma ação aguarda uma segunda pessoa',
    dispute: 'Um pagamento foi contestado (MED)',
  },
})

/** What a user is notified of in this browser. */
export type NotificationChoice = {
  desktop: boolean
  sound: boolean
  payments: boolean
  /** Cents. */
  minAmount: number | null
  approvals: boolean
  disputes: boolean
}

type Notice = { title: string; path: string; clientId: string | null }
type Words = (typeof words)['en'] & { money: (cents: number) => string; number: (value: number) => string }

export function findNotices({ changes }: Changed, choice: NotificationChoice, t: Words): Notice[] {
  return changes.flatMap(({ kind, status, clientId, count, records }): Notice[] => {
    const [first] = records
    if (kind === 'transaction' && status === 'PAID' && choice.payments) {
      const large = records.filter(({ amount }) => amount !== null && amount >= (choice.minAmount ?? 0))
      const [one] = large
      if (!one) return []
      if (large.length === 1)
        return [{ title: t.payment(t.money(one.amount ?? 0)), path: `/transactions/${one.id}`, clientId }]
      // Only the newest records are named, so the amounts of the others are not known. A record without an amount was
      // paid earlier: a refund or a dispute has ended.
      const isEach = large.length === records.length && !choice.minAmount
      const write = isEach || records.length === count ? t.payments : t.paymentsAtLeast
      const title = write(t.number(isEach ? count : large.length))
      return [{ title, path: '/transactions', clientId }]
    }
    if (kind === 'approval' && status !== 'closed' && choice.approvals)
      return [
        {
          title: status === 'proposed' ? t.proposal : t.approval,
          path: status === 'proposed' ? '/' : '/withdrawals',
          clientId,
        },
      ]
    if (kind === 'dispute' && status === 'open' && choice.disputes && first)
      return [{ title: t.dispute, path: '/disputes', clientId }]
    return []
  })
}

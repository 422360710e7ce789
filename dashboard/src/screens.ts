import { type ComponentType, lazy } from 'react'
import type { Icon } from './components/icons.tsx'

/** A screen, its paths, and who may see it. Screens with an icon are in the navigation, in this order. */
export type ScreenEntry = {
  name: string
  paths: string[]
  Screen: ComponentType
  /** Null: everyone who is signed in. */
  permission: string | null
  /** Only users of the operator. */
  isForOperator?: boolean
  icon?: Icon
}

const screen = (load: () => Promise<{ default: ComponentType }>) => lazy(load)

export const screens: ScreenEntry[] = [
  {
    name: 'today',
    paths: ['/'],
    permission: null,
    icon: 'today',
    Screen: screen(async () => await import('./screens/today/today.tsx')),
  },
  {
    name: 'transactions',
    paths: ['/transactions'],
    permission: 'transaction.read',
    icon: 'transactions',
    Screen: screen(async () => await import('./screens/transactions/transactions.tsx')),
  },
  {
    name: 'charge',
    paths: ['/charge'],
    permission: 'transaction.write',
    icon: 'charge',
    Screen: screen(async () => await import('./screens/charge/charge.tsx')),
  },
  {
    name: 'links',
    paths: ['/links'],
    permission: 'transaction.read',
    icon: 'link',
    Screen: screen(async () => await import('./screens/links/links.tsx')),
  },
  {
    name: 'link',
    paths: ['/links/:id'],
    permission: 'transaction.read',
    Screen: screen(async () => await import('./screens/links/link.tsx')),
  },
  {
    name: 'counterSign',
    paths: ['/links/:id/sign'],
    permission: 'transaction.read',
    Screen: screen(async () => await import('./screens/links/counter-sign.tsx')),
  },
  {
    name: 'withdrawals',
    paths: ['/withdrawals'],
    permission: 'withdrawal.read',
    icon: 'withdrawals',
    Screen: screen(async () => await import('./screens/withdrawals/withdrawals.tsx')),
  },
  {
    name: 'disputes',
    paths: ['/disputes'],
    permission: 'infraction.read',
    icon: 'disputes',
    Screen: screen(async () => await import('./screens/disputes/disputes.tsx')),
  },
  {
    name: 'transaction',
    paths: ['/transactions/:id'],
    permission: 'transaction.read',
    Screen: screen(async () => await import('./screens/record/record.tsx')),
  },
  {
    name: 'withdrawal',
    paths: ['/withdrawals/:id'],
    permission: 'withdrawal.read',
    Screen: screen(async () => await import('./screens/record/record.tsx')),
  },
  {
    name: 'customer',
    paths: ['/customers/:id'],
    permission: 'transaction.read',
    Screen: screen(async () => await import('./screens/customer/customer.tsx')),
  },
  {
    name: 'ledger',
    paths: ['/ledger'],
    permission: 'balance.read',
    icon: 'ledger',
    Screen: screen(async () => await import('./screens/ledger/ledger.tsx')),
  },
  {
    name: 'month',
    paths: ['/month'],
    permission: 'balance.read',
    icon: 'month',
    Screen: screen(async () => await import('./screens/month/month.tsx')),
  },
  {
    name: 'reconciliation',
    paths: ['/reconciliation'],
    permission: 'reconciliation.read',
    isForOperator: true,
    icon: 'reconciliation',
    Screen: screen(async () => await import('./screens/reconciliation/reconciliation.tsx')),
  },
  {
    name: 'closed-day',
    paths: ['/reconciliation/days/:acquirer/:day'],
    permission: 'reconciliation.read',
    isForOperator: true,
    Screen: screen(async () => await import('./screens/reconciliation/day.tsx')),
  },
  {
    name: 'suspense-payment',
    paths: ['/reconciliation/suspense/:id'],
    permission: 'reconciliation.read',
    isForOperator: true,
    Screen: screen(async () => await import('./screens/reconciliation/suspense-payment.tsx')),
  },
  {
    name: 'webhooks',
    paths: ['/webhooks'],
    permission: 'webhook.read',
    icon: 'webhooks',
    Screen: screen(async () => await import('./screens/webhooks/webhooks.tsx')),
  },
  {
    name: 'paymentPage',
    paths: ['/payment-page'],
    permission: 'credential.write',
    icon: 'palette',
    Screen: screen(async () => await import('./screens/payment-page/payment-page.tsx')),
  },
  {
    name: 'apiRequests',
    paths: ['/api-requests'],
    permission: 'webhook.read',
    icon: 'apiRequests',
    Screen: screen(async () => await import('./screens/api-requests/api-requests.tsx')),
  },
  {
    name: 'credentials',
    paths: ['/credentials'],
    permission: 'credential.write',
    icon: 'credentials',
    Screen: screen(async () => await import('./screens/credentials/credentials.tsx')),
  },
  {
    name: 'sandbox',
    paths: ['/sandbox'],
    permission: 'sandbox.use',
    icon: 'sandbox',
    Screen: screen(async () => await import('./screens/sandbox/sandbox.tsx')),
  },
  {
    name: 'users',
    paths: ['/users'],
    permission: 'user.write',
    icon: 'users',
    Screen: screen(async () => await import('./screens/users/users.tsx')),
  },
  {
    name: 'audit',
    paths: ['/audit'],
    permission: 'audit.read',
    icon: 'audit',
    Screen: screen(async () => await import('./screens/audit/audit.tsx')),
  },
  {
    name: 'personalData',
    paths: ['/personal-data'],
    permission: 'personal_data.write',
    icon: 'account',
    Screen: screen(async () => await import('./screens/personal-data/personal-data.tsx')),
  },
  {
    name: 'system',
    paths: ['/system'],
    permission: 'system.read',
    icon: 'system',
    Screen: screen(async () => await import('./screens/system/system.tsx')),
  },
  {
    name: 'account',
    paths: ['/account'],
    permission: null,
    Screen: screen(async () => await import('./screens/account/account.tsx')),
  },
]

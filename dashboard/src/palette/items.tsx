import { useComputedColorScheme, useMantineColorScheme } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useLocation } from 'wouter'
import { request } from '../api.ts'
import type { Icon } from '../components/icons.tsx'
import { useMerchants } from '../components/merchant-switch.tsx'
import { presetPersonalFilters } from '../filters.ts'
import { useFormat } from '../format.ts'
import { useClientLink } from '../links.ts'
import { useRecents } from '../recent.ts'
import type { ScreenEntry } from '../screens.ts'
import { useClient, useMay, useUser } from '../session.tsx'
import { navigationWords } from '../shell.tsx'
import { screenKeys } from '../shortcuts.ts'
import { useLanguage, useText } from '../text.ts'
import type { SearchResults } from '../types.ts'
import { matches } from './matches.ts'
import { words } from './text.ts'

/** A result: what it is called, what tells it apart from similar ones, and what choosing it does. */
export type Item = {
  key: string
  icon: Icon
  title: string
  note?: string | undefined
  status?: string
  /** The keys that do the same. */
  keys?: string[]
  run: () => void
  /** The palette stays open. */
  staysOpen?: boolean
}

export type Group = { name: keyof (typeof words)['en']['groups']; items: Item[] }

const shownMax = 6

type Context = { query: string; shown: readonly ScreenEntry[]; onSheet: () => void; onSignOut: () => void }

/** What the dashboard knows without a search: recent records, screens, actions and merchants that match. */
export function useLocalGroups({ query, shown, onSheet, onSignOut }: Context): Group[] {
  const t = useText(words)
  const recent = useRecentItems()
  const screens = useScreenItems(shown)
  const actions = useActionItems(onSheet, onSignOut)
  const merchants = useMerchantItems()
  const find = (items: (Item & { names: string })[]) =>
    items.filter(({ names }) => query === '' || matches(names, query)).slice(0, query === '' ? 20 : shownMax)
  const screenGroup = { name: 'screens' as const, items: find(screens) }
  const actionGroup = { name: 'actions' as const, items: find(actions) }
  if (query === '') return [{ name: 'recent', items: recent }, actionGroup, screenGroup]
  return [screenGroup, actionGroup, { name: 'merchants', items: find(merchants(t.groups.merchants)) }]
}

function useRecentItems(): Item[] {
  const t = useText(words)
  const format = useFormat()
  const [, navigate] = useLocation()
  return useRecents().map(({ path, type, amount, createdAt }) => ({
    key: path,
    icon: type === 'transaction' ? 'transactions' : 'withdrawals',
    title: `${t[type]} · ${format.money(amount)}`,
    note: format.dateTime(createdAt),
    run: () => navigate(path),
  }))
}

function useScreenItems(shown: readonly ScreenEntry[]) {
  const nameOf = useText(navigationWords)
  const { merchant } = useUser()
  const [, navigate] = useLocation()
  const toLink = useClientLink()
  return shown.flatMap(({ name, icon, paths: [path = '/'] }) => {
    const key = screenKeys[name]
    const names = [navigationWords.en, navigationWords.pt].flatMap((all) => [all[name], all[`${name}OfMerchant`]])
    const item = {
      key: name,
      icon: icon ?? ('account' as const),
      title: (merchant && nameOf[`${name}OfMerchant`]) || (nameOf[name] ?? name),
      names: names.join(' '),
      run: () => navigate(toLink(path)),
      ...(key && { keys: ['G', key.toUpperCase()] }),
    }
    return path.includes(':') ? [] : [item]
  })
}

function useActionItems(onSheet: () => void, onSignOut: () => void) {
  const t = useText(words)
  const may = useMay()
  const client = useClient()
  const { merchant } = useUser()
  const [, navigate] = useLocation()
  const toLink = useClientLink()
  const queries = useQueryClient()
  const { language, choose } = useLanguage()
  const { setColorScheme } = useMantineColorScheme()
  const scheme = useComputedColorScheme('light')
  const openWith = (path: string, action: string) => () => navigate(toLink(path), { state: { action } })
  const showSteps = async () => {
    await request('PUT', '/first-steps', { isDismissed: false })
    await queries.invalidateQueries({ queryKey: ['first-steps'] })
    navigate(toLink('/'))
  }
  const actions: [name: keyof typeof t.actions, icon: Icon, run: () => void, isOffered?: boolean, staysOpen?: true][] =
    [
      ['charge', 'charge', () => navigate(toLink('/charge')), may('transaction.write')],
      ['withdraw', 'withdrawals', openWith('/withdrawals', 'withdraw'), may('withdrawal.write')],
      ['export', 'download', openWith('/transactions', 'export'), may('transaction.read') && client !== null],
      ['exportWithdrawals', 'download', openWith('/withdrawals', 'export'), may('withdrawal.read') && client !== null],
      ['invite', 'users', openWith('/users', 'invite'), may('user.write')],
      ['allMerchants', 'users', () => navigate('/'), merchant === null && client !== null],
      ['theme', scheme === 'dark' ? 'sun' : 'moon', () => setColorScheme(scheme === 'dark' ? 'light' : 'dark')],
      ['language', 'account', () => choose(language === 'pt' ? 'en' : 'pt')],
      ['keys', 'search', onSheet, true, true],
      ['steps', 'check', () => void showSteps()],
      ['guide', 'ledger', () => void open(language === 'pt' ? '/guide/pt/' : '/guide/', '_blank', 'noopener')],
      ['signOut', 'out', onSignOut],
    ]
  return actions
    .filter(([, , , isOffered = true]) => isOffered)
    .map(([name, icon, run, , staysOpen = false]) => ({
      ...{ key: name, icon, title: t.actions[name], run, staysOpen },
      names: `${words.en.actions[name]} ${words.pt.actions[name]}`,
      ...(name === 'keys' && { keys: ['?'] }),
    }))
}

/** The operator's users find merchants by name or client id. */
function useMerchantItems() {
  const { merchant } = useUser()
  const [, navigate] = useLocation()
  const clients = useMerchants()
  return (group: string) =>
    (merchant === null ? (clients.data ?? []) : []).map(({ clientId, name }) => ({
      ...{ key: clientId, icon: 'users' as const, title: name, note: clientId },
      names: `${name} ${clientId} ${group}`,
      run: () => navigate(`/?${new URLSearchParams({ client: clientId })}`),
    }))
}

/** What the service found. */
export function useFoundGroups(found: SearchResults | undefined, query: string): Group[] {
  const t = useText(words)
  const format = useFormat()
  const { merchant } = useUser()
  const [, navigate] = useLocation()
  const client = useClient()
  const toLink = useClientLink()
  const clients = useMerchants()
  if (!found) return []
  // The merchant's name matters only to users who see several merchants.
  const merchantOf = (clientId: string) =>
    merchant === null ? [clients.data?.find((one) => one.clientId === clientId)?.name ?? clientId] : []
  const open = (path: string, clientId: string) => () =>
    navigate(merchant === null ? `${path}?${new URLSearchParams({ client: clientId })}` : path)
  const records = (type: 'transaction' | 'withdrawal') =>
    found.records
      .filter((one) => one.type === type)
      .map(({ id, clientId, amount, status, createdAt, externalCode, customerName }): Item => {
        // A phone has room for the first of them only.
        const notes = [customerName, format.recent(createdAt), externalCode, ...merchantOf(clientId)]
        return {
          ...{ key: id, icon: `${type}s` as const, title: `${t[type]} · ${format.money(amount)}`, status },
          note: notes.filter((note) => note !== null).join(' · '),
          run: open(`/${type}s/${id}`, clientId),
        }
      })
  const customers = found.customers.map(({ id, clientId, name, document }): Item => {
    const notes = [document, ...merchantOf(clientId)].filter((note) => note !== null)
    return {
      ...{ key: id, icon: 'account', title: name, note: notes.join(' · ') },
      run: open(`/customers/${id}`, clientId),
    }
  })
  const transactions = records('transaction')
  const list: Item = {
    ...{ key: 'list', icon: 'transactions', title: t.inList(query) },
    run: () => {
      presetPersonalFilters(toLink('/transactions'), { customerName: query })
      navigate(toLink('/transactions'))
    },
  }
  // The list of one merchant finds names that contain the text as it is, but not several words in another order.
  const isOfName = (merchant !== null || client !== null) && transactions.length > 1 && !/[\d@\s]/.test(query)
  return [
    { name: 'customers', items: customers },
    { name: 'transactions', items: isOfName ? [list, ...transactions] : transactions },
    { name: 'withdrawals', items: records('withdrawal') },
  ]
}

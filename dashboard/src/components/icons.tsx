import IconAlertTriangle from '@tabler/icons-react/dist/esm/icons/IconAlertTriangle.mjs'
import IconArrowsExchange from '@tabler/icons-react/dist/esm/icons/IconArrowsExchange.mjs'
import IconBaselineDensitySmall from '@tabler/icons-react/dist/esm/icons/IconBaselineDensitySmall.mjs'
import IconBook2 from '@tabler/icons-react/dist/esm/icons/IconBook2.mjs'
import IconCalendarMonth from '@tabler/icons-react/dist/esm/icons/IconCalendarMonth.mjs'
import IconCashMove from '@tabler/icons-react/dist/esm/icons/IconCashMove.mjs'
import IconChartBar from '@tabler/icons-react/dist/esm/icons/IconChartBar.mjs'
import IconCheck from '@tabler/icons-react/dist/esm/icons/IconCheck.mjs'
import IconClipboardText from '@tabler/icons-react/dist/esm/icons/IconClipboardText.mjs'
import IconCopy from '@tabler/icons-react/dist/esm/icons/IconCopy.mjs'
import IconDots from '@tabler/icons-react/dist/esm/icons/IconDots.mjs'
import IconDownload from '@tabler/icons-react/dist/esm/icons/IconDownload.mjs'
import IconFilter from '@tabler/icons-react/dist/esm/icons/IconFilter.mjs'
import IconFlask from '@tabler/icons-react/dist/esm/icons/IconFlask.mjs'
import IconKey from '@tabler/icons-react/dist/esm/icons/IconKey.mjs'
import IconLink from '@tabler/icons-react/dist/esm/icons/IconLink.mjs'
import IconLogout from '@tabler/icons-react/dist/esm/icons/IconLogout.mjs'
import IconMoon from '@tabler/icons-react/dist/esm/icons/IconMoon.mjs'
import IconPalette from '@tabler/icons-react/dist/esm/icons/IconPalette.mjs'
import IconPrinter from '@tabler/icons-react/dist/esm/icons/IconPrinter.mjs'
import IconQrcode from '@tabler/icons-react/dist/esm/icons/IconQrcode.mjs'
import IconScale from '@tabler/icons-react/dist/esm/icons/IconScale.mjs'
import IconSearch from '@tabler/icons-react/dist/esm/icons/IconSearch.mjs'
import IconServer2 from '@tabler/icons-react/dist/esm/icons/IconServer2.mjs'
import IconSun from '@tabler/icons-react/dist/esm/icons/IconSun.mjs'
import IconTerminal2 from '@tabler/icons-react/dist/esm/icons/IconTerminal2.mjs'
import IconUser from '@tabler/icons-react/dist/esm/icons/IconUser.mjs'
import IconUsers from '@tabler/icons-react/dist/esm/icons/IconUsers.mjs'
import IconWebhook from '@tabler/icons-react/dist/esm/icons/IconWebhook.mjs'

/** The icons of the navigation and the buttons. Each is imported from its own file, so that the build reads no others. */
const icons = {
  today: IconChartBar,
  transactions: IconArrowsExchange,
  charge: IconQrcode,
  link: IconLink,
  withdrawals: IconCashMove,
  disputes: IconAlertTriangle,
  ledger: IconBook2,
  month: IconCalendarMonth,
  reconciliation: IconScale,
  webhooks: IconWebhook,
  apiRequests: IconTerminal2,
  credentials: IconKey,
  sandbox: IconFlask,
  system: IconServer2,
  users: IconUsers,
  audit: IconClipboardText,
  account: IconUser,
  palette: IconPalette,
  print: IconPrinter,
  search: IconSearch,
  copy: IconCopy,
  check: IconCheck,
  filter: IconFilter,
  dense: IconBaselineDensitySmall,
  download: IconDownload,
  sun: IconSun,
  moon: IconMoon,
  out: IconLogout,
  more: IconDots,
}

export type Icon = keyof typeof icons

export function IconOf({ name, size = 18 }: { name: Icon; size?: number }) {
  const Drawing = icons[name]
  return <Drawing aria-hidden size={size} stroke={1.8} />
}

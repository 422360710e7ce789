/** The icons of the navigation and the buttons, in one style: 24 by 24, strokes of 1.8. */
const paths = {
  today: 'M4 19V9m6 10V5m6 14v-7m4 7H2',
  transactions: 'M4 7h13m0 0-3-3m3 3-3 3M20 17H7m0 0 3-3m-3 3 3 3',
  withdrawals: 'M12 4v11m0 0-4-4m4 4 4-4M4 20h16',
  disputes: 'M12 3 2.5 20h19L12 3Zm0 7v4m0 3v.01',
  ledger: 'M5 4h12a2 2 0 0 1 2 2v14H7a2 2 0 0 1-2-2V4Zm4 5h6m-6 4h6',
  reconciliation: 'M4 6h7v12H4V6Zm9 0h7v12h-7V6Zm-6 4h1m-1 4h1m8-4h1m-1 4h1',
  webhooks: 'M9 8a3.5 3.5 0 1 1 5.5 2.8L17 15m-1 2.5a3 3 0 1 0 1-4.2M10.500 10 8 15m0 0a3 3 0 1 0 2 3h6',
  credentials: 'M14 10a4.500 4.500 0 1 0-4 4.500L11.500 13H14v-2.500L14 10Zm0 0 6 6v3h-3l-3.500-3.500M8 8v.01',
  sandbox: 'M9 3h6m-5 0v6l-5 9a2 2 0 0 0 2 3h10a2 2 0 0 0 2-3l-5-9V3M7.500 15h9',
  system: 'M4 5h16v6H4V5Zm0 8h16v6H4v-6Zm3-5v.01M7 16v.01',
  users:
    'M9 11a3.500 3.500 0 1 0 0-7 3.500 3.500 0 0 0 0 7Zm-6 9c0-3.500 2.700-5.500 6-5.500s6 2 6 5.500M16 4.500a3.500 3.500 0 0 1 0 6M17.500 15c2.200.600 3.500 2.400 3.500 5',
  audit: 'M6 3h9l4 4v14H6V3Zm8 0v5h5M9 12h7m-7 4h7',
  account: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8Zm-8 9c0-4 3.500-6 8-6s8 2 8 6',
  search: 'M10.500 17a6.500 6.500 0 1 0 0-13 6.500 6.500 0 0 0 0 13Zm5-1.500L21 21',
  copy: 'M9 9h11v11H9V9Zm-5 6V4h11',
  check: 'm5 12.500 4.500 4.500L19 7.500',
  filter: 'M3 5h18l-7 8.500V20l-4-2v-4.500L3 5Z',
  download: 'M12 4v11m0 0-4-4m4 4 4-4M4 20h16',
  sun: 'M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8Zm0-13v2m0 14v2M3 12h2m14 0h2M5.600 5.600 7 7m10 10 1.400 1.400M5.600 18.400 7 17M17 7l1.400-1.400',
  moon: 'M20 14.500A8.500 8.500 0 1 1 9.500 4a7 7 0 0 0 10.500 10.500Z',
  out: 'M14 4h5v16h-5M10 8l-4 4 4 4m-4-4h10',
} as const

export type Icon = keyof typeof paths

export function IconOf({ name, size = 18 }: { name: Icon; size?: number }) {
  return (
    <svg
      aria-hidden="true"
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.8"
      strokeLinecap="round"
      strokeLinejoin="round"
    >
      <path d={paths[name]} />
    </svg>
  )
}

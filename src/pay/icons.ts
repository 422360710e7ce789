import { verbatim } from './html.ts'

const icon = (path: string, className: 'badge' | 'small') =>
  verbatim(
    `<svg class="${className}" viewBox="0 0 24 24" aria-hidden="true" width="22" height="22"><path d="${path}"/></svg>`,
  )

/** `badge`: the large round one that shows the state of a payment. */
export const icons = {
  copy: icon('M9 9h11v11H9zM4 15V4h11', 'small'),
  check: icon('m4 12.500 5.500 5.500L20 6.500', 'badge'),
  clock: icon('M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18Zm0-14v5l3.500 2', 'badge'),
  cross: icon('M6 6l12 12M18 6 6 18', 'badge'),
  returned: icon('M9 6 4 11l5 5M4 11h10a6 6 0 0 1 0 12h-2', 'badge'),
}

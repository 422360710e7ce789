import { texts, useText } from '../text.ts'
import type { DefenceView } from '../types.ts'
import { StatusBadge } from './status.tsx'

const words = texts({
  en: {
    none: 'Not started',
    draft: 'Draft',
    sending: 'Sending',
    refused: 'Refused by the PSP',
    sent: 'Sent',
    handed_in: 'Handed in',
  },
  pt: {
    none: 'Não iniciada',
    draft: 'Rascunho',
    sending: 'Enviando',
    refused: 'Recusada pelo PSP',
    sent: 'Enviada',
    handed_in: 'Entregue',
  },
})

const colors = {
  ...{ none: 'gray', draft: 'blue', sending: 'orange', refused: 'red', sent: 'teal', handed_in: 'teal' },
}

export type DefenceState = NonNullable<DefenceView['written']>['state'] | 'none'

/** How far the defence against a dispute is. */
export function DefenceBadge({ of: state }: { of: DefenceState }) {
  const t = useText(words)
  return <StatusBadge color={colors[state]}>{t[state]}</StatusBadge>
}

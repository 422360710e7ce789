import { Textarea, type TextareaProps } from '@mantine/core'
import { texts, useText } from '../text.ts'

const words = texts({ en: { label: 'Reason (optional)' }, pt: { label: 'Motivo (opcional)' } })

export function RefundReason(props: TextareaProps) {
  return <Textarea {...props} label={useText(words).label} minLength={2} maxLength={140} />
}

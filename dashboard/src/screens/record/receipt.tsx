import { Button, type ButtonProps } from '@mantine/core'
import { withQuery } from '../../api.ts'
import { IconOf } from '../../components/icons.tsx'
import { texts, useLanguage, useText } from '../../text.ts'
import type { ExplainedRecord } from '../../types.ts'

const words = texts({
  en: { receipt: 'Receipt (PDF)', print: 'Print' },
  pt: { receipt: 'Comprovante (PDF)', print: 'Imprimir' },
})

/** The buttons to download the receipt of a payment or a withdrawal, if it has one, and to print the record. */
export function ReceiptButtons({ of, hasReceipt }: { of: Pick<ExplainedRecord, 'type' | 'id'>; hasReceipt: boolean }) {
  const t = useText(words)
  return (
    <>
      {hasReceipt && <ReceiptButton of={of} />}
      <Button variant="default" onClick={() => window.print()} leftSection={<IconOf name="print" size={14} />}>
        {t.print}
      </Button>
    </>
  )
}

/** Downloads the receipt of a payment, a refund or a withdrawal. */
export function ReceiptButton({
  of: { type, id },
  ...props
}: { of: { type: ExplainedRecord['type'] | 'refund'; id: string } } & ButtonProps) {
  const t = useText(words)
  const { language } = useLanguage()
  return (
    <Button
      component="a"
      variant="default"
      href={withQuery(`/dashboard/api/${type}/${id}/receipt.pdf`, { language })}
      download
      leftSection={<IconOf name="download" size={14} />}
      {...props}
    >
      {t.receipt}
    </Button>
  )
}

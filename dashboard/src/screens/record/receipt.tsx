import { Button } from '@mantine/core'
import { withQuery } from '../../api.ts'
import { IconOf } from '../../components/icons.tsx'
import { texts, useLanguage, useText } from '../../text.ts'

const words = texts({
  en: { receipt: 'Receipt (PDF)', print: 'Print' },
  pt: { receipt: 'Comprovante (PDF)', print: 'Imprimir' },
})

/** The receipt of a payment, and the record on paper. */
export function ReceiptButtons({ id, hasReceipt }: { id: string; hasReceipt: boolean }) {
  const t = useText(words)
  const { language } = useLanguage()
  return (
    <>
      {hasReceipt && (
        <Button
          component="a"
          variant="default"
          href={withQuery(`/dashboard/api/transaction/${id}/receipt.pdf`, { language })}
          download
          leftSection={<IconOf name="download" size={14} />}
        >
          {t.receipt}
        </Button>
      )}
      <Button variant="default" onClick={() => window.print()} leftSection={<IconOf name="print" size={14} />}>
        {t.print}
      </Button>
    </>
  )
}

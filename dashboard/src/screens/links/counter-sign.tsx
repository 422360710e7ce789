import { Button, Skeleton } from '@mantine/core'
import { Link } from 'wouter'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { Page } from '../../components/page.tsx'
import { useFormat } from '../../format.ts'
import { useClientLink } from '../../links.ts'
import { useText } from '../../text.ts'
import { useLinkDetail } from './link.tsx'
import { words } from './text.ts'
import './counter-sign.css'

/** An A6 sign for a counter: the static code or, without one, the code of the link. */
export default function CounterSign() {
  const t = useText(words)
  const { money } = useFormat()
  const toLink = useClientLink()
  const { data: link, error, refetch } = useLinkDetail()
  return (
    <Page
      title={t.counterSign}
      actions={
        link && (
          <>
            <Button component={Link} href={toLink(`/links/${link.id}`)} variant="default">
              {t.back}
            </Button>
            <Button onClick={() => print()}>{t.print}</Button>
          </>
        )
      }
    >
      {error && <ErrorNotice error={error} onRetry={() => void refetch()} />}
      {!link && !error && <Skeleton height={480} />}
      {link && (
        <article className="counter-sign">
          <p className="counter-sign-merchant">{link.merchantName}</p>
          <h2>{link.title}</h2>
          <img src={link.staticQrCode ?? link.qrCode} alt={link.staticCode === null ? t.linkQr : t.staticAlt} />
          <p className="counter-sign-amount">{link.amount === null ? t.chooseAmount : money(link.amount)}</p>
          <p className="counter-sign-pay">{t.payWithPix}</p>
          <p>{link.staticCode === null ? t.scanLink : t.scanStatic}</p>
        </article>
      )}
    </Page>
  )
}

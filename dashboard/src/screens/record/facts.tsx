import { Anchor } from '@mantine/core'
import { Link } from 'wouter'
import { Copyable } from '../../components/copy.tsx'
import type { Fact } from '../../components/fact-list.tsx'
import { useClientLink } from '../../links.ts'
import { useMay } from '../../session.tsx'
import { useText } from '../../text.ts'
import type { ExplainedRecord } from '../../types.ts'
import { words } from './text.ts'
import { useWebhookUrlFacts } from './webhook-test.tsx'

/** What only developers and the operator look for. */
export function useTechnicalFacts(record: ExplainedRecord, webhookUrl: string | undefined): Fact[] {
  const { id, endToEnd, clientId, acquirer } = record
  const t = useText(words)
  const may = useMay()
  const toLink = useClientLink()
  const ownUrl = useWebhookUrlFacts(record, webhookUrl)
  const facts: Fact[] = []
  if (endToEnd) facts.push([t.endToEnd, <Copyable key="e" value={endToEnd} label={t.endToEnd} />])
  if (may('webhook.read'))
    facts.push([
      t.deliveries,
      <Anchor key="d" component={Link} href={toLink('/webhooks', { recordId: id })} inherit>
        {t.showDeliveries}
      </Anchor>,
    ])
  facts.push(...ownUrl, [t.client, <Copyable key="c" value={clientId} label={t.client} />], [t.acquirer, acquirer])
  return facts
}

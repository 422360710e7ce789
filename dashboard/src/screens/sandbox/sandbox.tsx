import { Alert, SimpleGrid, Stack } from '@mantine/core'
import { OfClient } from '../../components/choose-client.tsx'
import { Page } from '../../components/page.tsx'
import { useText } from '../../text.ts'
import { Amounts } from './amounts.tsx'
import { Bank } from './bank.tsx'
import { OpeningDispute, SendingBack } from './dispute.tsx'
import { Paying } from './pay.tsx'
import { words } from './text.ts'

/** Controls for the simulated network. Users have the permission only if the service runs one. */
export default function Sandbox() {
  const t = useText(words)
  return (
    <OfClient title={t.title}>
      {(client) => (
        <Page title={t.title} lead={t.lead}>
          <Alert color="yellow" title={t.noMoney}>
            {t.noMoneyLead}
          </Alert>
          <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg" style={{ alignItems: 'start' }}>
            <Stack gap="lg">
              <Paying client={client} />
              <OpeningDispute client={client} />
              <SendingBack client={client} />
            </Stack>
            <Bank client={client} />
          </SimpleGrid>
          <Amounts />
        </Page>
      )}
    </OfClient>
  )
}

import { Alert, SimpleGrid, Stack } from '@mantine/core'
import { RequireMerchant } from '../../components/choose-merchant.tsx'
import { Page } from '../../components/page.tsx'
import { useMay } from '../../session.tsx'
import { useText } from '../../text.ts'
import { Amounts } from './amounts.tsx'
import { Bank } from './bank.tsx'
import { DisputeSection, ReturnSection } from './dispute.tsx'
import { PaySections } from './pay.tsx'
import { Scenarios } from './scenarios.tsx'
import { words } from './text.ts'

/**
 * Controls for the simulated Pix network. Users have the permission `sandbox.use`, which opens this screen, only if the
 * service simulates one.
 */
export default function Sandbox() {
  const t = useText(words)
  const may = useMay()
  return (
    <RequireMerchant title={t.title}>
      {(client) => (
        <Page title={t.title} lead={t.lead}>
          <Alert color="yellow" title={t.noMoney}>
            {t.noMoneyLead}
          </Alert>
          {may('transaction.write') && <Scenarios client={client} />}
          <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg" style={{ alignItems: 'start' }}>
            <Stack gap="lg">
              <PaySections client={client} />
              <DisputeSection client={client} />
            </Stack>
            <Stack gap="lg">
              <Bank client={client} />
              <ReturnSection client={client} />
            </Stack>
          </SimpleGrid>
          <Amounts />
        </Page>
      )}
    </RequireMerchant>
  )
}

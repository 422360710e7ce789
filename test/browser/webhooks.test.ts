import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sql } from '../../src/db/sql.ts'
import { chromiumPath, openChromium, type Visit, visit } from '../support/browser.ts'
import { charge, payAt, untilStatus } from '../support/payments.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { findSandboxMerchant, inviteUser, signIn } from '../support/users.ts'
import { startTestReceiver, type TestReceiver } from '../support/webhooks.ts'

describe.skipIf(chromiumPath === null)('a developer whose receiver refuses webhooks', () => {
  let service: TestService
  let browser: Browser
  let receiver: TestReceiver
  /** The visit of a signed-in developer of the merchant. */
  let desktop: Visit

  beforeAll(async () => {
    service = await startTestService({
      environment: { TOKEN_LIFETIME_SECONDS: '86400', WEBHOOK_ALLOW_PRIVATE: 'true' },
    })
    browser = await openChromium()
    receiver = await startTestReceiver((response) => response.writeHead(410).end())
    desktop = await visit(browser)
    const developer = { role: 'developer', merchantId: await findSandboxMerchant(service) }
    await signIn(desktop.page, service, await inviteUser(service, developer))
  })
  afterAll(async () => {
    await browser.close()
    await receiver.stop()
    await service.stop()
  })

  it('sees that a resend was given up, and that nothing is resent if the deliveries have changed', async () => {
    const { id, uri } = await charge(service, { webhookUrl: receiver.url })
    await payAt(service, uri)
    await untilStatus(service, id, 'PAID')
    const { page, go, checkScreenAtEachSize, pageErrors } = desktop
    await go('/webhooks')
    await page.getByText('2 no longer retried').waitFor()
    const dialog = page.getByRole('dialog')
    const preview = async () => {
      await page.getByRole('button', { name: 'Resend a period' }).click()
      await dialog.getByLabel('From', { exact: true }).fill('1 Jan 2020')
      await dialog.getByLabel('Until', { exact: true }).fill('2099-01-01')
      await dialog.getByText('2 deliveries to one receiver will be resent.').waitFor()
    }
    await preview()
    await dialog.getByRole('button', { name: 'Resend 2' }).click()
    await dialog.getByText('2 no longer retried').waitFor()
    await dialog.getByRole('progressbar', { name: '2 no longer retried' }).waitFor()
    expect(await dialog.getByText('Resending continues in the background').count()).toBe(0)
    await checkScreenAtEachSize('resend-given-up')
    await dialog.getByRole('button', { name: 'Close' }).last().click()

    await preview()
    await service.db.query(sql`update webhook_deliveries set state = 'delivered' where state = 'gone'`)
    await dialog.getByRole('button', { name: 'Resend 2' }).click()
    await page.getByText('Nothing was resent: the deliveries have changed').waitFor()
    await dialog.getByRole('button', { name: 'Close' }).last().click()
    expect(pageErrors).toEqual([])
  })
})

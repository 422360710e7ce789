import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { chromiumPath, openChromium, type Visit, visit } from '../support/browser.ts'
import { charge, payAt, untilStatus } from '../support/payments.ts'
import { fetchToken, startTestService, type TestService } from '../support/service.ts'
import { findSandboxMerchant, inviteUser, signIn } from '../support/users.ts'
import { startTestReceiver, type TestReceiver } from '../support/webhooks.ts'
import { fund, untilWithdrawal, withdraw } from '../support/withdrawals.ts'

describe.skipIf(chromiumPath === null)('a developer', () => {
  let service: TestService
  let browser: Browser
  let receiver: TestReceiver
  let status = 204
  /** The visit of a signed-in developer of the merchant, shared by the tests. */
  let desktop: Visit

  beforeAll(async () => {
    service = await startTestService({
      environment: { TOKEN_LIFETIME_SECONDS: '86400', WEBHOOK_ALLOW_PRIVATE: 'true' },
    })
    browser = await openChromium()
    receiver = await startTestReceiver((response) => response.writeHead(status).end())
    desktop = await visit(browser)
    await desktop.page.clock.install()
    const developer = { role: 'developer', merchantId: await findSandboxMerchant(service) }
    await signIn(desktop.page, service, await inviteUser(service, developer))
  })
  afterAll(async () => {
    await browser.close()
    await receiver.stop()
    await service.stop()
  })

  async function payOne(): Promise<string> {
    const { id, uri } = await charge(service, { webhookUrl: receiver.url })
    await payAt(service, uri)
    await untilStatus(service, id, 'PAID')
    return id
  }

  it('resends one delivery to a receiver that was down, then all deliveries of a period', async () => {
    status = 410
    const id = await payOne()
    for (let more = 0; more < 3; more += 1) await payOne()
    const { page, go, checkScreen, checkScreenAtEachSize, pageErrors } = desktop
    await page.getByRole('link', { name: 'Webhooks' }).click()
    await page.getByText('8 no longer retried').waitFor()
    await page.getByText(/^8 deliveries · 0% successful · 95% of answers within \d+ m?s$/).waitFor()
    await page.getByText(/^Last error: The receiver answered 410: it accepts no more events, /).waitFor()
    await checkScreen('webhooks-down')
    // The link filters the list, and does not open the delivery of its row.
    const { origin } = new URL(receiver.url)
    await page.getByRole('link', { name: origin }).click()
    await expect.poll(() => page.url()).toContain(`receiver=${encodeURIComponent(origin)}`)
    await page.getByRole('button', { name: 'Clear filters' }).click()
    await page
      .getByRole('row')
      .nth(1)
      .getByRole('link', { name: new URL(receiver.url).host })
      .click()
    await expect.poll(() => page.url()).toContain(`receiver=${encodeURIComponent(origin)}`)
    expect(await page.getByRole('dialog').count()).toBe(0)
    await go(`/webhooks?recordId=${id}&state=gone`)
    await page.locator('tr:has-text("transaction.paid") .row-link').click()
    const drawer = page.getByRole('dialog')
    await drawer.getByText('The receiver answered 410').waitFor()
    await drawer.getByText(`"id": "${id}"`).waitFor()
    await checkScreen('delivery')
    status = 204
    await drawer.getByRole('button', { name: 'Resend', exact: true }).click()
    await expect.poll(() => receiver.received.length).toBe(9)
    await page.clock.fastForward(2_000)
    await drawer.getByText('delivered', { exact: true }).waitFor()
    await drawer.getByText('HTTP 204').waitFor()
    expect(receiver.received.filter(({ event }) => event.data.id === id)).toHaveLength(3)

    await page.keyboard.press('Escape')
    await drawer.waitFor({ state: 'detached' })
    await go(`/webhooks?state=gone&type=transaction.paid`)
    for (const row of [0, 1])
      await page
        .getByRole('checkbox', { name: /^Select transaction.paid/ })
        .nth(row)
        .check()
    await checkScreenAtEachSize('webhooks-selected')
    await page.getByRole('button', { name: 'Resend 2' }).click()
    await page.getByRole('dialog').getByText('Resend 2 deliveries?').waitFor()
    await checkScreen('resend-selected')
    await page.getByRole('dialog').getByRole('button', { name: 'Resend 2' }).dblclick()
    await page.getByText('All delivered.').waitFor()
    expect(receiver.received).toHaveLength(11)
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).last().click()

    await go('/webhooks')
    await page.getByRole('button', { name: 'Resend a period' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('From', { exact: true }).fill('1 Jan 2020')
    await dialog.getByLabel('From: time').fill('0:00')
    await dialog.getByLabel('Until', { exact: true }).fill('2099-01-01')
    await dialog.getByText('5 deliveries to one receiver will be resent.').waitFor()
    await checkScreen('resend-preview')
    const before = receiver.received.length
    // The response is lost: a retry repeats the same request (same id), and another period is a new request.
    const requested: string[] = []
    await page.route('**/webhook/resend/*', async (route) => {
      if (route.request().method() !== 'PUT') return await route.continue()
      await (requested.push(route.request().url()) < 3 ? route.abort() : route.continue())
    })
    for (const times of [1, 2]) {
      await dialog.getByRole('button', { name: 'Resend 5' }).click()
      await expect.poll(() => requested).toHaveLength(times)
      await dialog.getByText('The service cannot be reached.').waitFor()
    }
    await dialog.getByLabel('From: time').fill('1:00')
    await dialog.getByRole('button', { name: 'Resend 5' }).click()
    await page.getByText('All delivered.').waitFor()
    await checkScreen('resend-done')
    expect(new Set(requested.slice(0, 2)).size).toBe(1)
    expect(new Set(requested).size).toBe(2)
    expect(receiver.received.length - before).toBe(5)
    await page.getByRole('button', { name: 'Close' }).last().click()
    await page.clock.fastForward(5_000)
    await page.getByText('8 delivered').waitFor()
    await page.getByText(/^8 deliveries · 100% successful/).waitFor()
    expect(await page.getByText(/^Last error/).count()).toBe(0)
    expect(pageErrors).toEqual([])
  })

  it('lists the events of withdrawals without a link to a record that the role may not see', async () => {
    await fund(service, 5_000)
    await untilWithdrawal(service, await withdraw(service, { amount: 1_000 }), 'PROCESSED')
    await charge(service)
    const { page, go, pageErrors } = desktop
    await go('/webhooks?view=events')
    const rows = page.locator('tbody tr')
    const ofWithdrawals = rows.filter({ hasText: 'withdrawal.' })
    await ofWithdrawals.first().waitFor()
    expect(await ofWithdrawals.and(page.locator('.link')).count()).toBe(0)
    await rows.filter({ hasText: 'transaction.' }).and(page.locator('.link')).first().waitFor()
    expect(pageErrors).toEqual([])
  })

  it('finds the request that failed, and reads which field was wrong', async () => {
    await charge(service)
    await service.call('/transaction', { body: { amount: 2_590, customer: { name: 'Maria Segredo' } } })
    await service.call('/transaction/not-an-id')
    const { page, go, checkScreenAtEachSize, chooseLanguage, pageErrors } = desktop
    await go('/api-requests')
    await page.getByRole('combobox', { name: 'Result' }).click()
    await page.getByRole('option', { name: 'Errors of the request (4xx)' }).click()
    await page.getByRole('button', { name: 'Details of POST /transaction' }).waitFor()
    expect(await page.getByText('201', { exact: true }).count()).toBe(0)
    await chooseLanguage('Português')
    await checkScreenAtEachSize('api-requests')
    await chooseLanguage('English')
    await page.getByRole('button', { name: 'Details of POST /transaction' }).click()
    const drawer = page.getByRole('dialog')
    await drawer.getByText('pix: required').waitFor()
    await drawer.getByText('"name": "[text, 13 characters]"').waitFor()
    await drawer.getByText('"title": "The request is not valid"').waitFor()
    expect(await drawer.getByText('Maria').count()).toBe(0)
    await checkScreenAtEachSize('api-request')
    await desktop.context.grantPermissions(['clipboard-read', 'clipboard-write'])
    await drawer.getByRole('button', { name: 'Copy as curl' }).click()
    await drawer.getByRole('button', { name: 'Copied', exact: true }).waitFor()
    const command = await page.evaluate(async () => await navigator.clipboard.readText())
    expect(command).toBe(`curl -X POST '${service.baseUrl}/transaction' \\
  -H "Authorization: Bearer $TOKEN" \\
  -H 'Content-Type: application/json' \\
  -d '{
  "amount": 2590,
  "customer": {
    "name": "<customer.name>"
  },
  "isInfoProduct": true
}'`)
    await page.keyboard.press('Escape')
    await go('/api-requests')
    await chooseLanguage('Português')
    await page.getByRole('button', { name: 'Detalhes de POST /transaction' }).last().click()
    await drawer.getByText('"PIX_QRCODE_GENERATED"').waitFor()
    await checkScreenAtEachSize('api-request-created')
    await page.keyboard.press('Escape')
    await chooseLanguage('English')
    await page.getByRole('table').getByRole('link', { name: 'Transaction', exact: true }).first().click()
    await page.getByRole('heading', { name: /^Transaction/ }).waitFor()
    expect(pageErrors).toEqual([])
  })

  it('adds a webhook endpoint, sees its secret once, tests it and disables it', async () => {
    status = 204
    const { page, go, checkScreen, pageErrors } = desktop
    await go('/webhooks?view=endpoints')
    await page.getByText('No endpoints yet').waitFor()
    await page.getByRole('button', { name: 'Add an endpoint' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('URL').fill(`${receiver.url}/orders`)
    await dialog.getByLabel('Description').fill('Order system')
    await dialog.getByLabel('Events').first().fill('transaction.paid')
    await page.getByRole('option', { name: 'transaction.paid' }).click()
    // Clicking elsewhere closes the list of events.
    await dialog.getByLabel('Description').click()
    await checkScreen('endpoint-add')
    await dialog.getByRole('button', { name: 'Add an endpoint' }).click()
    await page.getByText('Shown only once.').waitFor()
    expect(await page.getByRole('dialog').locator('.identifier').textContent()).toMatch(/^whsec_/)
    await page.getByRole('button', { name: 'I copied it' }).click()
    await page.getByText('Order system · one type of event').waitFor()

    await page.getByRole('button', { name: 'Send a test' }).click()
    await dialog.getByRole('button', { name: 'Send a test' }).click()
    await dialog.getByText(/^HTTP 204 in .*accepts deliveries/).waitFor()
    status = 500
    await dialog.getByRole('button', { name: 'Send again' }).click()
    await dialog.getByText(/^The receiver answered 500, after/).waitFor()
    await checkScreen('endpoint-test')
    await dialog.getByRole('button', { name: 'Cancel' }).click()

    await page.getByRole('button', { name: 'Disable' }).click()
    await dialog.getByRole('button', { name: 'Disable' }).click()
    await page.getByText(/^Disabled on request/).waitFor()
    await checkScreen('endpoints')
    expect(pageErrors).toEqual([])
  })

  it('sends a test event to the URL of a record, and sees the answer', async () => {
    status = 204
    const id = await payOne()
    const { page, go, checkScreenAtEachSize, pageErrors } = desktop
    await go(`/transactions/${id}`)
    status = 500
    await page.getByRole('button', { name: 'Send a test event' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Send a test event' }).click()
    await dialog.getByText(/^The receiver answered 500, after/).waitFor()
    expect(receiver.received.at(-1)?.event).toMatchObject({ type: 'webhook.test', data: { recordId: id } })
    await checkScreenAtEachSize('record-webhook-test')
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    expect(pageErrors).toEqual([])
  })

  it('cannot rotate a secret alone: an owner does, sees the new one once, and both are valid', async () => {
    const { clientId } = service.sandbox
    // Whoever creates a secret can do everything that the client can, so only an owner may.
    await desktop.go('/credentials')
    await desktop.page.getByText(`clientId: '${clientId}'`).waitFor()
    expect(await desktop.page.getByRole('button', { name: 'Rotate: Client secret' }).count()).toBe(0)
    const { page, checkScreen, pageErrors, close } = await visit(browser)
    await signIn(
      page,
      service,
      await inviteUser(service, { role: 'owner', merchantId: await findSandboxMerchant(service) }),
      '/credentials',
    )
    await page.getByText(`clientId: '${clientId}'`).waitFor()
    await page.getByRole('button', { name: 'Rotate: Client secret' }).click()
    await checkScreen('rotate')
    await page.getByRole('dialog').getByRole('button', { name: 'Rotate client secret' }).click()
    await page.getByText('Shown only once.').waitFor()
    const shown = page.getByRole('dialog').locator('.identifier')
    const clientSecret = (await shown.textContent()) ?? ''
    await page.getByRole('button', { name: 'I copied it' }).click()
    await page.getByText(/^until 3 Mar 2026/).waitFor()
    expect(await page.content()).not.toContain(clientSecret)
    expect(await fetchToken(service.baseUrl, { clientId, clientSecret })).toMatch(/^ey/)
    expect(await fetchToken(service.baseUrl, service.sandbox)).toMatch(/^ey/)
    expect(pageErrors).toEqual([])
    // The response is lost: the retry has the same request id, even after the dialog was closed and opened again.
    const ids: unknown[] = []
    await page.route('**/client/*/secret', async (route) => {
      ids.push((route.request().postDataJSON() as { id: string }).id)
      await route.abort()
    })
    for (const times of [1, 2]) {
      await page.getByRole('button', { name: 'Rotate: Client secret' }).click()
      await page.getByRole('dialog').getByRole('radio').first().check()
      await page.getByRole('dialog').getByRole('button', { name: 'Rotate client secret' }).click()
      await expect.poll(() => ids).toHaveLength(times)
      await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
      await page.getByRole('dialog').waitFor({ state: 'detached' })
    }
    expect(ids[1]).toBe(ids[0])
    await close()
  })

  it('creates a charge in the sandbox, pays it and sees it paid', async () => {
    const { page, chooseLanguage, checkScreen, checkScreenAtEachSize, pageErrors } = desktop
    await page.getByRole('link', { name: 'Sandbox' }).click()
    await chooseLanguage('Português')
    await page.getByText('Nenhum dinheiro de verdade é movimentado aqui.').waitFor()
    await page.getByRole('button', { name: 'Criar', exact: true }).click()
    await page.getByText(/Uma cobrança de R\$\s25,90 está pronta/).waitFor()
    await page.getByRole('img', { name: 'QR Code da cobrança' }).waitFor()
    await page.getByRole('link', { name: 'Abrir a página de pagamento' }).waitFor()
    await checkScreenAtEachSize('sandbox-charge')
    await page.getByRole('button', { name: 'Pagar esta cobrança' }).click()
    await page.getByText('Paga', { exact: true }).waitFor()
    await checkScreen('sandbox-paid')
    await page.getByRole('link', { name: 'Ver o registro' }).click()
    await page.getByRole('heading', { name: /Transação · R\$\s25,90/ }).waitFor()
    await chooseLanguage('English')
    expect(pageErrors).toEqual([])
  })

  it('runs a scenario with one button, and opens its record', async () => {
    const { page, go, checkScreenAtEachSize, pageErrors } = desktop
    await go('/sandbox')
    const scenarios = page.getByRole('region', { name: 'Try a scenario' })
    for (const [name, expected] of [
      ['Pay it', 'Paid'],
      ['Pay and return', 'Returned (MED)'],
      ['Pay and dispute', 'Disputed'],
    ] as const) {
      await scenarios.getByRole('button', { name: `Run: ${name}` }).click()
      await scenarios.getByRole('status').getByText(expected, { exact: true }).waitFor()
    }
    await checkScreenAtEachSize('sandbox-scenarios')
    await scenarios.getByRole('link', { name: 'View the record' }).click()
    await page.getByRole('heading', { name: 'Transaction · R$25.90' }).waitFor()
    expect(pageErrors).toEqual([])
  })

  it('changes the fault profile of the bank and back, disputes a payment and decides the dispute', async () => {
    await payOne()
    const { page, go, pageErrors } = desktop
    await go('/sandbox')
    await page.getByRole('radio', { name: 'Late' }).check()
    await page.getByRole('button', { name: 'Apply' }).click()
    await page.getByText('The bank now behaves this way.').waitFor()
    await page.getByRole('radio', { name: 'Honest' }).check()
    await page.getByRole('button', { name: 'Apply' }).click()
    await page.getByLabel('Paid transaction').first().click()
    // Until the list is reloaded, its first entry may be a transaction that an earlier test disputed.
    await page
      .getByRole('option', { name: / · Paid · / })
      .first()
      .click()
    await page.getByRole('button', { name: 'Open a dispute' }).click()
    await page.getByText('Dispute opened.').waitFor()
    await page.getByRole('button', { name: 'Reject: keep the money' }).click()
    await page.getByText('Dispute decided.').waitFor()
    expect(pageErrors).toEqual([])
  })

  it('uses an API client that an administrator created with chosen scopes', async () => {
    const { page, go, checkScreen, checkScreenAtEachSize, pageErrors, close } = await visit(browser, {
      width: 390,
      theme: 'dark',
    })
    await signIn(page, service, await inviteUser(service, { role: 'admin' }), '/credentials')
    await checkScreen('clients')
    await page.getByRole('button', { name: 'New API client' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('Padaria do João')
    await dialog.getByLabel('withdrawal.write').uncheck()
    await checkScreen('new-client')
    await dialog.getByRole('button', { name: 'Create' }).click()
    await page.getByText('Shown only once.').waitFor()
    await page.getByText(/^whsec_/).waitFor()
    await page.getByRole('button', { name: 'I copied it' }).click()
    await page.getByLabel('Find an API client by name or id').fill('joão')
    await page.getByRole('link', { name: /Padaria do João/ }).click()
    await page.getByRole('heading', { name: 'Padaria do João' }).waitFor()
    expect(await page.getByText('withdrawal.write').count()).toBe(0)
    await page.getByText('Python', { exact: true }).click()
    await page.getByText('from guiche import Guiche').waitFor()
    await page.getByText('PHP', { exact: true }).click()
    await page.getByText('use Guiche\\Guiche;').waitFor()
    await checkScreen('client')
    await page.getByRole('button', { name: 'Revoke tokens and secrets' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke tokens and secrets' }).click()
    await page.getByText('revoked', { exact: true }).waitFor()
    // With several merchants, the operator sees the webhooks of all.
    await go('/webhooks')
    await page.getByRole('tab', { name: /^Failing \d/ }).waitFor()
    await checkScreenAtEachSize('webhooks-all')
    await page.getByRole('tab', { name: 'Delivered' }).click()
    await page
      .getByRole('row')
      .filter({ hasText: /transaction.*delivered.*Sandbox/ })
      .first()
      .click()
    await page.getByRole('dialog').getByText('Attempt 1').waitFor()
    expect(pageErrors).toEqual([])
    await close()
  })

  it('sees screens without errors in another width and theme as well', async () => {
    const { page, go, checkScreenAtEachSize, pageErrors } = desktop
    for (const path of ['webhooks', 'credentials', 'sandbox']) {
      await go(`/${path}`)
      await page.getByRole('heading', { level: 1 }).waitFor()
      await checkScreenAtEachSize(path)
    }
    expect(pageErrors).toEqual([])
  })
})

import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { chromiumPath, openChromium, visit } from '../support/browser.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { findSandboxMerchant, inviteUser, signIn } from '../support/users.ts'

describe.skipIf(chromiumPath === null)('a merchant that sells by links', () => {
  let service: TestService
  let browser: Browser
  beforeAll(async () => {
    service = await startTestService()
    browser = await openChromium()
  })
  afterAll(async () => {
    await browser.close()
    await service.stop()
  })

  it('creates a link that is paid twice, sees both payments with their sum, and prints its counter sign', async () => {
    const email = await inviteUser(service, { role: 'owner', merchantId: await findSandboxMerchant(service) })
    const owner = await visit(browser)
    const { page } = owner
    await signIn(page, service, email, '/links')
    await page.getByText('No payment links yet').waitFor()
    await page.getByRole('button', { name: 'New link' }).first().click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('What for').fill('Assinatura anual do clube de cafés especiais torrados na hora para você')
    await dialog.getByRole('textbox', { name: 'Amount' }).fill('99999.99')
    await dialog.getByLabel('Printable QR code').check()
    await owner.checkScreenAtEachSize('link-form')
    await dialog.getByRole('button', { name: 'New link' }).click()
    await page.getByRole('img', { name: 'Static Pix QR code' }).waitFor()
    const url = (await page.getByRole('link', { name: /\/l\// }).getAttribute('href')) ?? ''

    const customer = await visit(browser, { width: 390, locale: 'pt-BR' })
    for (const round of [1, 2]) {
      await customer.page.goto(url)
      if (round === 1) await customer.checkScreenAtEachSize('link-page')
      await customer.page.getByRole('button', { name: 'Pagar com Pix' }).click()
      await customer.page.getByRole('button', { name: 'Pagar no banco simulado' }).click()
      await customer.page.getByRole('heading', { name: 'Pagamento confirmado' }).waitFor()
    }
    expect(customer.pageErrors).toEqual([])
    await page.reload()
    const conditions = page.getByRole('region', { name: 'Conditions' })
    await conditions.getByText('R$199,999.98').waitFor()
    expect(await conditions.getByText('2', { exact: true }).count()).toBe(1)
    const payments = page.getByRole('region', { name: 'Payments' }).first()
    await expect.poll(() => payments.getByText('Paid', { exact: true }).count()).toBe(2)
    await page.getByRole('button', { name: 'Pay the static code' }).click()
    await page.getByRole('status').getByText('Paid at the simulated bank').waitFor()
    await conditions.getByText('R$299,999.97').waitFor()
    await owner.checkScreenAtEachSize('link')
    const address = page.url()
    await page.getByRole('link', { name: 'Show in Transactions' }).click()
    await page.getByRole('link', { name: /^Assinatura anual/ }).waitFor()
    await expect.poll(() => page.getByRole('row').filter({ hasText: 'R$99,999.99' }).count()).toBe(3)
    await page.getByRole('button', { name: 'Skip to the first row' }).focus()
    await page.keyboard.press('Enter')
    expect(await page.evaluate(() => document.activeElement?.closest('tr')?.textContent)).toContain('R$99,999.99')
    // The whole row is a link, and the browser opens it in a new tab as it does other links.
    const row = page.locator('tr.link').first()
    const { width, height } = (await row.boundingBox()) ?? { width: 0, height: 0 }
    const clicked = page.evaluate(
      async () =>
        await new Promise((resolve) =>
          document.addEventListener(
            'click',
            ({ target, defaultPrevented }) =>
              resolve([(target as Element).closest('a')?.pathname.split('/')[2], defaultPrevented]),
            { once: true },
          ),
        ),
    )
    await row.click({ modifiers: ['ControlOrMeta'], position: { x: width - 20, y: height / 2 } })
    expect(await clicked).toEqual(['transactions', false])
    expect(new URL(page.url()).pathname).toBe('/dashboard/transactions')
    // Text that the row cuts off is in full in its tooltip.
    await row.locator('.one-line').first().hover({ force: true })
    expect(await row.getByRole('link').getAttribute('title')).toMatch(/^\d+ \w+ \d{4}, /)
    await owner.checkScreenAtEachSize('link-transactions')
    await page.goto(address)
    await owner.chooseLanguage('Português')
    await owner.checkScreen('link-pt')
    await page.getByRole('link', { name: 'Imprimir placa' }).click()
    await page.getByText('Abra o app do seu banco').waitFor()
    await owner.checkScreenAtEachSize('link-counter-sign')
    const printed = (await page.pdf({ preferCSSPageSize: true })).toString('latin1')
    // One page, A6 in points.
    expect(printed.match(/\/MediaBox ?\[[^\]]*\]/g)).toEqual([expect.stringMatching(/ 29[78]\S* (?:419|420)\S*\]$/)])
    await owner.go('/links')
    await page.getByRole('region', { name: 'Links' }).getByText('Ativo', { exact: true }).waitFor()
    await owner.checkScreenAtEachSize('links')
    await page.getByRole('row', { name: /^Assinatura anual/ }).click()
    await page.getByRole('button', { name: 'Desativar' }).click()
    await page.getByRole('button', { name: 'Ativar', exact: true }).waitFor()
    await page.goBack()
    await page
      .getByRole('region', { name: 'Links' })
      .getByText('Desativado', { exact: true })
      .waitFor({ timeout: 30_000 })
    expect(owner.pageErrors).toEqual([])
  })
})

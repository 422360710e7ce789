import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  chromiumPath,
  enlargeAmounts,
  findSpilled,
  largeAmounts,
  openChromium,
  type Visit,
  visit,
} from '../support/browser.ts'
import { charge, payAt, untilStatus } from '../support/payments.ts'
import { readZip } from '../support/read-files.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { findSandboxMerchant, inviteUser, signIn } from '../support/users.ts'

const customer = { name: 'Maria da Silva', document: '529.982.247-25', email: 'maria@example.com' }

describe.skipIf(chromiumPath === null)('users of a merchant', () => {
  let service: TestService
  let browser: Browser
  let owner: string
  /** The owner on a wide screen, for all tests. */
  let desktop: Visit
  /** The owner on a phone, in Portuguese. */
  let phone: Visit
  /** The id of the last paid transaction. */
  let paid: string

  beforeAll(async () => {
    service = await startTestService({ environment: { TOKEN_LIFETIME_SECONDS: '86400' } })
    browser = await openChromium()
    for (const [index, amount] of [2_590, 14_900, 990, 8_000, 31_250].entries()) {
      const { id, uri } = await charge(service, { amount, customer, externalCode: `order-2026-${1000 + index}` })
      service.clock.advance(20_000 + index * 7_000)
      if (index === 1) continue
      await payAt(service, uri)
      paid = (await untilStatus(service, id, 'PAID')).id
    }
    owner = await inviteUser(service, { role: 'owner', merchantId: await findSandboxMerchant(service) })
    desktop = await visit(browser)
    await signIn(desktop.page, service, owner)
    phone = await visit(browser, { locale: 'pt-BR', width: 390 })
    await signIn(phone.page, service, owner)
  })
  afterAll(async () => {
    await browser.close()
    await service.stop()
  })

  it('see today’s figures, their transactions and one transaction at both widths, in both themes', async () => {
    const { page, go, checkScreenAtEachSize, pageErrors } = desktop
    await page.getByText('R$428.30').first().waitFor()
    await page.getByText('80%').waitFor()
    await checkScreenAtEachSize('today')
    const days = page.getByRole('slider', { name: 'Paid per day: Paid' })
    // Focusing the slider scrolls the chart into view; it must not end up under the pointer.
    await page.mouse.move(0, 0)
    await days.focus()
    await page.locator('.plot-tip').getByText('Charges paid: 4 of 5').waitFor()
    // A resized plot is redrawn, as for new data: its tooltip must stay.
    await desktop.setAppearance({ width: 390 })
    await page.waitForFunction(() => (document.querySelector('.u-over')?.clientWidth ?? 999) < 390)
    await page.locator('.plot-tip').getByText('Charges paid: 4 of 5').waitFor()
    await desktop.setAppearance({ width: 1440 })
    expect(await days.getAttribute('aria-valuetext')).toMatch(/\(so far\), Paid: R\$428\.30, .*, Conversion: 80%$/)
    await days.press('ArrowLeft')
    await page.locator('.plot-tip').getByText('Charges paid: 0 of 0').waitFor()
    // A name typed into the list's filters earlier must not hide what a click on the chart, or a saved view, lists.
    const typeName = async () => {
      await page.getByRole('button', { name: /^Filters/ }).click()
      await page.getByLabel('Customer’s name').fill('Nobody')
      await page.getByText('No transactions match these filters').waitFor()
    }
    await go('/transactions')
    await typeName()
    await page.getByRole('link', { name: 'Today', exact: true }).click()
    await days.focus()
    for (const key of ['End', 'Enter']) await days.press(key)
    await page.getByText('5 in all').waitFor()
    expect(new URL(page.url()).search).toMatch(/^\?from=(.{10})&until=\1$/)
    await typeName()
    await page.getByRole('button', { name: 'Views' }).click()
    await page.getByRole('menuitem', { name: 'Paid today' }).click()
    await expect.poll(() => page.getByLabel('Customer’s name').inputValue()).toBe('')
    // Nothing follows this cursor any more: the list falls back to its first page.
    await go('/transactions?after=0_00000000-0000-4000-8000-000000000000')
    await expect.poll(async () => await page.locator('tbody tr').count()).toBe(5)
    expect(new URL(page.url()).search).toBe('')
    await go('/transactions')
    await page.getByText('5 in all').waitFor()
    await checkScreenAtEachSize('transactions')
    await go(`/transactions/${paid}`)
    await page.getByRole('heading', { name: 'Transaction · R$312.50' }).waitFor()
    await page.getByText('Maria da Silva').waitFor()
    await checkScreenAtEachSize('transaction')
    expect(pageErrors).toEqual([])
  })

  it('see amounts in the millions fit their cards on a phone, in both languages', async () => {
    const { page, chooseLanguage, checkScreen, close } = await visit(browser, { width: 390 })
    await enlargeAmounts(page)
    await signIn(page, service, owner)
    for (const [locale, amount] of Object.entries(largeAmounts)) {
      if (locale === 'pt-BR') await chooseLanguage('Português')
      await page.getByText(amount).first().waitFor()
      await checkScreen(`millions-${locale}`)
      expect(await findSpilled(page)).toEqual([])
    }
    await close()
  })

  it('keep their filters in the address after a reload and after a visit to a record', async () => {
    const { page, go } = desktop
    await page.getByRole('link', { name: 'Transactions', exact: true }).click()
    await page.getByText('5 in all').waitFor()
    await page.getByRole('button', { name: 'Filters' }).click()
    await page.getByLabel('Amount from').fill('100')
    await page.getByText('2 in all').waitFor()
    await page.getByLabel('External code').fill('order-2026-1001 ')
    await page.getByText('1 in all').waitFor()
    expect(new URL(page.url()).search).toBe('?minAmount=10000&externalCode=order-2026-1001')
    expect(await page.getByLabel('External code').inputValue()).toMatch(/ $/)
    const saved = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Export' }).click()
    await page.getByRole('menuitem', { name: 'For Excel' }).click()
    const sheet = await readFile(await (await saved).path(), 'utf8')
    expect(sheet).toMatch(
      /^\ufeffId,Created,Status,.*\r\n.*,Awaiting payment,149\.00,.*order-2026-1001,Maria da Silva,529\.982\.247-25,/,
    )
    expect(sheet.split('\r\n')).toHaveLength(3)
    await page.reload()
    await page.getByText('1 in all').waitFor()
    await page.getByRole('row', { name: 'Awaiting payment' }).click()
    await page.getByRole('heading', { name: 'Transaction · R$149.00' }).waitFor()
    await page.goBack()
    await page.getByText('1 in all').waitFor()
    await page.getByRole('button', { name: 'Clear filters' }).click()
    await page.getByText('5 in all').waitFor()
    expect(new URL(page.url()).search).toBe('')
    await go('/transactions?externalCode=nothing-of-ours')
    await page.getByText('No transactions match these filters').waitFor()
  })

  it('hand a month to the accountant in two clicks, and read the merchant’s balance in plain words', async () => {
    const { page, checkScreenAtEachSize } = desktop
    await page.getByRole('link', { name: 'Month closing', exact: true }).click()
    await page.getByRole('heading', { name: 'Month closing' }).waitFor()
    await page.getByRole('row', { name: /^Available at the end/ }).waitFor()
    await page.getByText('No mail server is configured (SMTP_URL)').waitFor()
    await checkScreenAtEachSize('month')
    const saved = page.waitForEvent('download')
    await page.getByRole('link', { name: 'Download all (ZIP)' }).click()
    const files = readZip(await readFile(await (await saved).path()))
    expect([...files.keys()].map((name) => name.replace(/-.*\./, '.'))).toEqual([
      ...['transactions.csv', 'withdrawals.csv', 'statement.csv', 'statement.ofx', 'fees.csv', 'fees.pdf'],
    ])
    await page.getByRole('link', { name: 'Statement', exact: true }).click()
    await page.getByText('On its way out').waitFor()
    await page.getByRole('button', { name: 'Withdraw' }).waitFor()
    await page.getByRole('region', { name: 'Balance over time' }).getByRole('figure').waitFor()
    await page.getByRole('button', { name: 'Export' }).click()
    const statement = page.waitForEvent('download')
    await page.getByRole('menuitem', { name: /^OFX for accounting programs/ }).click()
    expect(await readFile(await (await statement).path(), 'latin1')).toContain('<LEDGERBAL>')
  })

  it('find a record with “/” and read its timeline in Portuguese', async () => {
    const { page, checkScreen } = phone
    await page.getByRole('heading', { name: 'Hoje', exact: true }).waitFor()
    await page.keyboard.press('/')
    await page.getByRole('combobox', { name: /^(Name|Nome), CPF/ }).fill('order-2026-1004')
    await page.getByText(/Transação · R\$\s312,50/).waitFor()
    await checkScreen('search')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: /Transação · R\$\s312,50/ }).waitFor()
    const timeline = page.getByRole('region', { name: 'Histórico' })
    await timeline.getByText('situação', { exact: true }).first().waitFor()
    expect(await timeline.getByText(/^simulator notificou/).count()).toBe(0)
    await timeline.getByRole('button', { name: /^Mostrar \d+ etapas técnicas$/ }).click()
    await timeline.getByText(/^Pagamento · R\$\s312,50: Nos PSPs → Disponível$/).waitFor()
    await timeline.getByText(/^simulator notificou o pagamento E/).waitFor()
    const { paymentDate } = (await service.call<{ paymentDate: string }>(`/transaction/${paid}`)).body
    const inBrasilia = new Intl.DateTimeFormat('pt-BR', {
      dateStyle: 'short',
      timeStyle: 'medium',
      timeZone: 'America/Sao_Paulo',
    }).format(new Date(paymentDate))
    await page.getByText(`recebidos em ${inBrasilia}`).waitFor()
    await page.getByText('Sem webhook: foi criado sem webhookUrl.').waitFor()
    await checkScreen('record-pt')
  })

  it('get an answer when a search finds nothing, in both languages', async () => {
    const { page, chooseLanguage, checkScreen, pageErrors } = desktop
    for (const language of ['Português', 'English'] as const) {
      await chooseLanguage(language)
      for (const text of ['Zuleica Quintanilha', 'R$ 77.777,77']) {
        await page.keyboard.press('/')
        await page.getByRole('combobox', { name: /^(Name|Nome), CPF/ }).fill(text)
        await page.getByRole('dialog').getByRole('status').getByText(`“${text}”`).waitFor()
        await page.keyboard.press('Escape')
        await page.getByRole('dialog').waitFor({ state: 'detached' })
      }
      await checkScreen(`search-nothing-${language}`)
    }
    expect(pageErrors).toEqual([])
  })

  it('find customers by name or CPF, charges by amount, and screens in either language', async () => {
    const { page, checkScreenAtEachSize, checkScreen, pageErrors } = desktop
    const field = page.getByRole('combobox', { name: /^Name, CPF/ })
    const find = async (text: string) => {
      await page.keyboard.press('Control+k')
      await field.fill(text)
    }
    const option = (name: RegExp) => page.getByRole('option', { name })
    const key = `new KeyboardEvent('keydown', { key: 'K', ctrlKey: true, shiftKey: true, cancelable: true })`
    expect(await page.evaluate(`document.dispatchEvent(${key})`), 'left to the browser').toBe(true)
    await find('SÍLVA maria')
    await option(/Maria da Silva.*\*\*\*\.982\.247-\*\*/).waitFor()
    await checkScreenAtEachSize('search-name')
    await field.fill('SÍLVA')
    await option(/^All charges of “SÍLVA”/).click()
    const rows = page.locator('#content tbody tr')
    await rows.filter({ hasText: 'Maria da Silva' }).first().waitFor()
    expect(await rows.filter({ hasNotText: 'Maria da Silva' }).count()).toBe(0)
    expect(decodeURIComponent(page.url())).not.toMatch(/s[ií]lva/i)
    const unpaid = rows.filter({ hasText: 'Awaiting payment' }).first()
    await page.getByRole('tab', { name: /^Paid/ }).click()
    await unpaid.waitFor({ state: 'detached' })
    await page.getByRole('tab', { name: /^All/ }).click()
    await unpaid.waitFor()
    // Filtering shows other rows; none of them is marked as changed.
    expect(await page.locator('tr[data-changed=true]').count()).toBe(0)
    await page.getByRole('button', { name: 'Clear filters' }).click()
    await find('149,00')
    await option(/R\$149\.00.*order-2026-1001/).click()
    await page.getByRole('heading', { name: 'Transaction · R$149.00' }).waitFor()
    await find('saques')
    await option(/^Withdrawals/).waitFor()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowUp')
    expect(await page.getByRole('option', { selected: true }).innerText()).toContain('Withdrawals')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Withdrawals', level: 1 }).waitFor()
    await find('')
    await option(/Transaction · R\$149\.00/).waitFor()
    await checkScreen('search-empty')
    await field.fill('529.982.247-25')
    await page.getByRole('group', { name: 'Customers' }).getByRole('option').click()
    await page.getByRole('heading', { name: 'Maria da Silva' }).waitFor()
    await page.getByText('4 of 5 charges').waitFor()
    expect(page.url()).not.toMatch(/529\.?982/)
    await checkScreenAtEachSize('customer')
    expect(pageErrors).toEqual([])
  })

  it('move with the keyboard, except while they type', async () => {
    const { page, go, checkScreenAtEachSize } = desktop
    await go('/')
    await page.getByRole('heading', { name: 'Today', exact: true }).waitFor()
    await page.keyboard.type('gt')
    await page.getByText('5 in all').waitFor()
    await page.keyboard.type('jjk')
    expect(
      await page
        .locator('tr.link')
        .first()
        .evaluate((row) => row.contains(document.activeElement)),
    ).toBe(true)
    // Enter belongs to no screen, so after G it opens the row.
    for (const key of ['g', 'Enter']) await page.keyboard.press(key)
    await page.getByRole('heading', { name: 'Transaction · R$312.50' }).waitFor()
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).getByText('Next row').waitFor()
    await checkScreenAtEachSize('shortcuts')
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.keyboard.press('/')
    await page.getByRole('combobox').pressSequentially('gw?')
    await page.getByRole('status').getByText('“gw?”').waitFor()
    await page.keyboard.press('Escape')
  })

  it('charge a customer with a form, and see the payment', async () => {
    const { page, go, checkScreenAtEachSize, checkScreen, pageErrors } = desktop
    await go('/charge')
    await page.getByRole('textbox', { name: 'Amount' }).fill('25.90')
    await page.getByLabel('What for').fill('Café torrado 500 g')
    await page.getByRole('button', { name: 'Customer (optional)' }).click()
    await page.getByLabel('Name', { exact: true }).fill('Maria da Silva')
    // No numeric keypad on phones: since 2026 a CNPJ may contain letters.
    expect(await page.getByLabel('CPF or CNPJ').getAttribute('inputmode')).toBeNull()
    await page.getByLabel('CPF or CNPJ').fill('529.982.247-26')
    await page.getByLabel('E-mail').fill('maria@example.com')
    await checkScreenAtEachSize('charge-form')
    await page.getByRole('button', { name: 'Charge', exact: true }).click()
    await page.locator('input[aria-invalid=true]').waitFor()
    await checkScreen('charge-refused')
    await page.getByLabel('CPF or CNPJ').fill('529.982.247-25')
    await page.getByRole('button', { name: 'Charge', exact: true }).click()
    await page.getByRole('img', { name: 'Scan with the bank’s app' }).waitFor()
    await page.getByText(/^Waiting for the payment · valid until .*\d\d:\d\d/).waitFor()
    await checkScreenAtEachSize('charge-open')
    const address = await page.getByRole('link', { name: 'Open the transaction' }).getAttribute('href')
    const id = /[0-9a-f-]{36}/.exec(address ?? '')?.[0] ?? ''
    const share = await page.getByRole('link', { name: 'Share on WhatsApp' }).getAttribute('href')
    expect(decodeURIComponent(share ?? '')).toMatch(/^https:\/\/wa\.me\/\?text=Pix of R\$25\.90: http.*\/pay\//)
    const { body } = await service.call<{ customer: { name: string }; pixResponse: { uri: string } }>(
      `/transaction/${id}`,
    )
    expect(body.customer.name).toBe('Maria da Silva')
    await payAt(service, body.pixResponse.uri)
    await page.getByRole('heading', { name: 'Paid' }).waitFor()
    await checkScreenAtEachSize('charge-paid')
    await page.getByRole('button', { name: 'Next charge' }).click()
    await page.getByRole('textbox', { name: 'Amount' }).waitFor()
    expect(pageErrors).toEqual([])
  })

  it('charge at a counter with a keypad, on a phone', async () => {
    const { page, context, go, checkScreen, pageErrors } = phone
    // What a phone needs to install the dashboard: a manifest without errors, and its icons.
    const manifest = await (await context.newCDPSession(page)).send('Page.getAppManifest')
    expect(manifest).toMatchObject({ url: `${service.baseUrl}/dashboard/app.webmanifest`, errors: [] })
    const { icons } = JSON.parse(manifest.data ?? '') as { icons: { src: string; sizes: string }[] }
    const sizes = await page.evaluate(
      async (sources) => {
        const images = sources.map((src) => Object.assign(new Image(), { src }))
        await Promise.all(images.map(async (image) => await image.decode()))
        return images.map(({ naturalWidth, naturalHeight }) => `${naturalWidth}x${naturalHeight}`)
      },
      icons.map(({ src }) => src),
    )
    expect(sizes).toEqual(icons.map(({ sizes: one }) => one))
    await go('/charge?mode=counter')
    const amount = page.getByRole('status', { name: 'Valor' })
    for (const digits of ['1', '2', '00', '5', '7'])
      await page.getByRole('button', { name: digits, exact: true }).click()
    await page.getByRole('button', { name: 'Apagar o último dígito' }).click()
    expect(await amount.textContent()).toMatch(/R\$\s120,05/)
    await checkScreen('counter')
    await page.getByRole('button', { name: /^Cobrar/ }).click()
    await page.getByRole('img', { name: 'Escaneie com o app do banco' }).waitFor()
    await checkScreen('counter-open')
    const address = await page.getByRole('link', { name: 'Abrir a transação' }).getAttribute('href')
    const id = /[0-9a-f-]{36}/.exec(address ?? '')?.[0] ?? ''
    await payAt(
      service,
      (await service.call<{ pixResponse: { uri: string } }>(`/transaction/${id}`)).body.pixResponse.uri,
    )
    await page.getByRole('heading', { name: 'Pago' }).waitFor()
    await checkScreen('counter-paid')
    await page.getByRole('button', { name: 'Próxima cobrança' }).click()
    await page.keyboard.type('990')
    await page.keyboard.press('Control+0')
    await page.keyboard.press('?')
    await page.getByRole('dialog').waitFor()
    await page.keyboard.type('5')
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.keyboard.type('1')
    await expect.poll(() => amount.textContent()).toMatch(/R\$\s99,01/)
    expect(pageErrors).toEqual([])
  })

  it('lose one card, not the page, when a component fails', async () => {
    const { page, checkScreen } = desktop
    await page.route('**/dashboard/api/record/*', async (route) => {
      const answer = await route.fetch()
      await route.fulfill({ response: answer, json: { ...(await answer.json()), timeline: null } })
    })
    await page.goto(`${service.baseUrl}/dashboard/transactions/${paid}`)
    const timeline = page.getByRole('region', { name: 'Timeline' })
    await timeline.getByRole('alert').getByText('This part could not be shown').waitFor()
    await page.getByRole('heading', { name: 'Transaction · R$312.50' }).waitFor()
    await page.getByText('Maria da Silva').waitFor()
    await checkScreen('broken-card')
    await page.unrouteAll({ behavior: 'wait' })
    // The record's response arrives last, and the card is rendered again right after it: it must have the new response.
    await page.route('**/dashboard/api/record/*', async (route) => {
      await sleep(500)
      await route.continue()
    })
    await page.getByRole('button', { name: 'Try again' }).click()
    await timeline.getByText('status', { exact: true }).first().waitFor()
    await page.route(
      '**/dashboard/api/search*',
      async (route) => await route.fulfill({ json: { customers: [null], records: [] } }),
    )
    await page.keyboard.press('/')
    await page.getByRole('combobox', { name: /^(Name|Nome), CPF/ }).fill('anything')
    await page.getByRole('alert').getByText('This part could not be shown').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('heading', { name: 'Transaction · R$312.50' }).waitFor()
  })
})

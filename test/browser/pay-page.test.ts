import { EventEmitter, once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import jsQR from 'jsqr'
import type { Browser, Page, Route } from 'playwright-core'
import { PNG } from 'pngjs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { chromiumPath, openChromium, visit } from '../support/browser.ts'
import { charge, payAt, untilStatus } from '../support/payments.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { findSandboxMerchant, inviteUser, signIn } from '../support/users.ts'

async function savePdf(page: Page, name: string): Promise<void> {
  const folder = process.env.GUICHE_PICTURES
  const pdf = await page.pdf({ format: 'A4', ...(folder !== undefined && { path: join(folder, `${name}.pdf`) }) })
  expect(pdf.subarray(0, 5).toString()).toBe('%PDF-')
}

describe.skipIf(chromiumPath === null)('the payment page', () => {
  let service: TestService
  let browser: Browser
  /** A shop at another origin: the example of the guide, with the payment address from its query. */
  let shop: Server
  let allowed: string
  beforeAll(async () => {
    const example = await readFile('docs/pay-embed-example.html', 'utf8')
    shop = createServer(({ url = '' }, answer) => {
      const address = new URL(url, allowed).searchParams.get('pay') ?? ''
      const page = example.replace('https://pix.example.com/pay/…', address)
      answer.setHeader('content-type', 'text/html')
      answer.end(page.replace('https://pix.example.com', service.baseUrl))
    }).listen(0, '127.0.0.1')
    await once(shop, 'listening')
    allowed = `http://localhost:${(shop.address() as AddressInfo).port}`
    service = await startTestService()
    browser = await openChromium()
  })
  afterAll(async () => {
    await browser.close()
    shop.close()
    await service.stop()
  })

  const make = async (more: Record<string, unknown> = {}) => {
    const { id, uri } = await charge(service, { amount: 2590, ...more })
    const { body } = await service.call<{ url: string }>(`/transaction/${id}/payment-link`)
    return { id, uri, url: body.url }
  }

  /** What a phone reads when it scans the screen. */
  const scan = async (page: Page) => {
    const { data, width, height } = PNG.sync.read(await page.screenshot({ fullPage: true }))
    return jsQR.default(new Uint8ClampedArray(data), width, height)?.data
  }

  it.each([
    { width: 390, theme: 'light', locale: 'pt-BR' },
    { width: 390, theme: 'dark', locale: 'pt-BR' },
    { width: 1440, theme: 'light', locale: 'pt-BR' },
    { width: 1440, theme: 'dark', locale: 'en-US' },
  ] as const)('can be scanned, and turns to paid automatically, at $width in $theme in $locale', async (how) => {
    const { page, pageErrors, checkScreen, close } = await visit(browser, how)
    const { id, uri, url } = await make({ returnUrl: 'https://shop.example.com/thanks?order=42' })
    await page.goto(url)
    await page
      .getByRole('timer')
      .getByText(/(30|29):\d\d/)
      .waitFor()
    expect(await scan(page)).toBe(uri)
    const isInPortuguese = how.locale === 'pt-BR'
    const back = page.getByRole('link', { name: isInPortuguese ? 'Voltar à loja' : 'Back to the shop' })
    expect(await back.getAttribute('href')).toBe('https://shop.example.com/thanks?order=42')
    await checkScreen('pay-waiting')
    await payAt(service, uri)
    const paid = isInPortuguese ? 'Pagamento confirmado' : 'Payment confirmed'
    await page.getByRole('heading', { name: paid }).waitFor()
    expect(await page.getByRole('status').textContent()).toBe(paid)
    expect(await page.title()).toBe(`${paid} · Sandbox`)
    const goOn = page.getByRole('link', { name: isInPortuguese ? 'Voltar para Sandbox' : 'Back to Sandbox' })
    expect(await goOn.getAttribute('href')).toBe(`https://shop.example.com/thanks?order=42&transactionId=${id}`)
    expect(await back.isVisible()).toBe(false)
    await checkScreen('pay-paid')
    expect(pageErrors).toEqual([])
    await close()
  })

  it('says that the charge was canceled as soon as it is', async () => {
    const { id, uri, url } = await make()
    const { page, checkScreenAtEachSize, close } = await visit(browser, { width: 390, locale: 'pt-BR' })
    await page.goto(url)
    await page.getByRole('timer').waitFor()
    expect((await service.call(`/transaction/${id}/cancel`, { body: {} })).status).toBe(200)
    await page.getByRole('heading', { name: 'Cobrança cancelada' }).waitFor()
    expect(await page.content()).not.toContain(uri)
    await checkScreenAtEachSize('pay-canceled')
    await close()
  })

  it('shows an expired code and an unknown page without errors', async () => {
    const { id, uri, url } = await make({ pix: { expirationSeconds: 60 } })
    const { page, checkScreenAtEachSize, close } = await visit(browser, { width: 390, locale: 'pt-BR' })
    await page.goto(url)
    await page.getByRole('timer').waitFor()
    service.clock.advance(60_000)
    await page.getByRole('heading', { name: 'Este código expirou' }).waitFor()
    await checkScreenAtEachSize('pay-expired')
    await page.goto(`${service.baseUrl}/pay/${id}`)
    await page.getByRole('heading', { name: 'Página não encontrada' }).waitFor()
    expect(await page.content()).not.toContain(uri)
    await checkScreenAtEachSize('pay-unknown')
    await close()
  })

  it('puts the code to copy first on a phone, and the QR code first on a wide screen', async () => {
    const { url } = await make()
    const { page, setAppearance, close } = await visit(browser, { locale: 'pt-BR' })
    await page.goto(url)
    const tops = async (width: 390 | 1440) => {
      await setAppearance({ width })
      const places = [page.getByRole('button', { name: 'Copiar código Pix' }), page.getByRole('img')].map(
        async (one) => await one.boundingBox(),
      )
      const [button, image] = await Promise.all(places)
      return { button, image }
    }
    const phone = await tops(390)
    expect(phone.button?.y).toBeLessThan(phone.image?.y ?? 0)
    // Visible without scrolling, and large enough for a thumb.
    expect((phone.button?.y ?? 1000) + (phone.button?.height ?? 0)).toBeLessThan(400)
    expect(phone.button?.height).toBeGreaterThanOrEqual(48)
    const desktop = await tops(1440)
    expect(desktop.image?.x).toBeLessThan(desktop.button?.x ?? 0)
    await close()
  })

  it('fits the narrowest phone with the largest amount and a long name', async () => {
    await service.db.pool.query(
      "update clients set name = 'Distribuidora-de-Materiais-de-Construção-Irmãos-Vasconcelos'",
    )
    const { url } = await make({ amount: 10_000_000 })
    const { page, close } = await visit(browser, { width: 390, locale: 'pt-BR' })
    await page.setViewportSize({ width: 320, height: 600 })
    await page.goto(url)
    await page.getByText('R$ 100.000,00').waitFor()
    const text = page.getByText('R$ 100.000,00')
    expect((await text.boundingBox())?.height).toBeLessThan(60)
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(320)
    await service.db.pool.query("update clients set name = 'Sandbox'")
    await close()
  })

  it.each([true, false])(
    'copies the code with a button, with or without the clipboard API: %s',
    async (hasClipboard) => {
      const { uri, url } = await make()
      const { page, context, pageErrors, checkScreen, close } = await visit(browser, { width: 390, locale: 'pt-BR' })
      await context.grantPermissions(['clipboard-read', 'clipboard-write'])
      await page.clock.install()
      await page.goto(url)
      await page.evaluate(async () => await navigator.clipboard.writeText('something else'))
      // A page without https has no clipboard API. Only `writeText` is removed: the test still reads.
      if (!hasClipboard)
        await page.evaluate(() => Object.defineProperty(navigator.clipboard, 'writeText', { value: undefined }))
      await page.getByRole('button', { name: 'Copiar código Pix' }).focus()
      await page.keyboard.press('Enter')
      await page.getByRole('button', { name: 'Código copiado' }).waitFor()
      expect(await page.getByRole('status').textContent()).toBe('Código copiado')
      if (hasClipboard) await checkScreen('pay-copied')
      expect(await page.evaluate(async () => await navigator.clipboard.readText())).toBe(uri)
      await page.clock.fastForward(4_000)
      await page.getByRole('button', { name: 'Copiar código Pix' }).waitFor()
      expect(pageErrors).toEqual([])
      await close()
    },
  )

  it('works without scripts: the code can be scanned and selected, and the page reloads itself', async () => {
    const { uri, url, id } = await make()
    const context = await browser.newContext({
      javaScriptEnabled: false,
      viewport: { width: 390, height: 900 },
      locale: 'pt-BR',
    })
    const page = await context.newPage()
    let reloadSeconds = 10
    await page.route(url, async (route) => {
      const answer = await route.fetch()
      const refresh = (seconds: number) => `http-equiv="refresh" content="${seconds}"`
      await route.fulfill({
        response: answer,
        body: (await answer.text()).replace(refresh(10), refresh(reloadSeconds)),
      })
    })
    await page.goto(url)
    expect(await scan(page)).toBe(uri)
    expect(await page.getByText(uri).isVisible()).toBe(true)
    expect(await page.getByRole('button', { name: 'Copiar código Pix' }).count()).toBe(0)
    expect(await page.getByRole('timer').count()).toBe(0)
    reloadSeconds = 1
    await page.reload()
    await payAt(service, uri)
    await untilStatus(service, id, 'PAID')
    await page.getByRole('heading', { name: 'Pagamento confirmado' }).waitFor()
    await context.close()
  })

  it('polls when it can have no stream, no faster without answers, and ignores an older answer that arrives late', async () => {
    const { id, uri, url } = await make()
    const { page, close } = await visit(browser, { locale: 'pt-BR' })
    await page.route('**/events', async (route) => await route.fulfill({ status: 429 }))
    await page.clock.install()
    const refused = page.waitForResponse(`${url}/events`)
    await page.goto(url)
    await page.getByRole('timer').waitFor()
    await refused
    // The page's clock still runs in real time, and `pauseAt` takes no time in the past.
    await page.clock.pauseAt(await page.evaluate(() => Date.now() + 1_000))
    let requests = 0
    await page.route(url, async (route) => {
      requests += 1
      await route.fulfill({ status: 503 })
    })
    for (let ticks = 1; ticks <= 10; ticks++) {
      await page.clock.runFor(5_000)
      await expect.poll(() => requests).toBeGreaterThanOrEqual(ticks)
    }
    expect(requests).toBe(10)
    await page.unroute(url)

    const gate = new EventEmitter()
    const [held, released] = [once(gate, 'held'), once(gate, 'released')]
    const older = page.waitForRequest(url)
    const delayOne = async (route: Route) => {
      const response = await route.fetch()
      gate.emit('held')
      await released
      await route.fulfill({ response })
    }
    await page.route(url, delayOne, { times: 1 })
    await page.clock.fastForward(5_000)
    await held
    await payAt(service, uri)
    await untilStatus(service, id, 'PAID')
    await page.clock.fastForward(5_000)
    // It is answered after all requests that the page has sent before.
    const fetchPage = async () => await page.evaluate(async () => await (await fetch(location.pathname)).text())
    await fetchPage()
    gate.emit('released')
    await (await (await older).response())?.finished()
    await fetchPage()
    await page.getByRole('heading', { name: 'Pagamento confirmado' }).waitFor()
    expect(await page.getByRole('timer').count()).toBe(0)
    await close()
  })

  it('is opened from the transaction’s screen in the dashboard', async () => {
    const { id, url } = await make()
    const email = await inviteUser(service, { role: 'developer', merchantId: await findSandboxMerchant(service) })
    const { page, context, checkScreen, close } = await visit(browser)
    await context.grantPermissions(['clipboard-read', 'clipboard-write'])
    await signIn(page, service, email, `/transactions/${id}`)
    await page.getByRole('button', { name: 'Copy link' }).click()
    await page.getByRole('button', { name: 'Link copied' }).waitFor()
    expect(await page.evaluate(async () => await navigator.clipboard.readText())).toBe(url)
    await checkScreen('pay-link')
    const opened = context.waitForEvent('page')
    await page.getByRole('link', { name: 'Payment page' }).click()
    await (await opened).getByRole('heading', { name: 'Pay with Pix' }).waitFor()
    await close()
  })

  it('is branded in the dashboard, readable in both themes', async () => {
    const email = await inviteUser(service, { role: 'owner', merchantId: await findSandboxMerchant(service) })
    const { page, pageErrors, checkScreenAtEachSize, chooseLanguage, close } = await visit(browser)
    await signIn(page, service, email, '/payment-page')
    await page.getByRole('textbox', { name: 'Color' }).fill('#ffd400')
    await page.getByRole('textbox', { name: /Address of your shop/ }).fill('http://shop.example.com')
    await page.getByRole('textbox', { name: /Sites that may show/ }).fill(`${allowed}\nhttps://shop.example.com`)
    const logo = new PNG({ width: 600, height: 200 })
    logo.data.fill(0x77)
    const file = page.locator('input[type=file]')
    await file.setInputFiles({ name: 'logo.png', mimeType: 'image/png', buffer: PNG.sync.write(logo) })
    await page.getByRole('button', { name: 'Remove the logo' }).waitFor()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.locator('[aria-invalid=true]').first().waitFor()
    await page.getByRole('textbox', { name: /Address of your shop/ }).fill('https://shop.example.com')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved. The page now has the new appearance.').waitFor()
    await page.getByLabel('Show what is bought').click()
    expect([await page.getByText('Saved.').count(), await file.inputValue()]).toEqual([0, ''])
    await page.getByText('your color would not be readable there').waitFor()
    await chooseLanguage('Português')
    await checkScreenAtEachSize('branding')
    expect(pageErrors).toEqual([])
    await close()

    const customer = await visit(browser, { locale: 'pt-BR' })
    await customer.page.goto((await make()).url)
    const image = customer.page.getByRole('img', { name: 'Sandbox' })
    expect(await image.evaluate((one: HTMLImageElement) => [one.naturalWidth, one.naturalHeight])).toEqual([336, 112])
    await customer.checkScreenAtEachSize('pay-branded')
    expect(customer.pageErrors).toEqual([])
    await customer.close()
  })

  const visitShop = async (origin: string, url: string) => {
    const visited = await visit(browser, { locale: 'pt-BR', width: 390 })
    await visited.page.goto(`${origin}/?${new URLSearchParams({ pay: url })}`)
    return visited
  }

  it('opens in a dialog of an allowed site, and says there what happened', async () => {
    const { uri, url } = await make()
    const { page, pageErrors, checkScreen, close } = await visitShop(allowed, url)
    await page.getByRole('link', { name: 'Pagar com Pix' }).click()
    const frame = page.frameLocator('iframe')
    await frame.getByRole('heading', { name: 'Pague com Pix' }).waitFor()
    // A message of anybody else changes nothing.
    await page.evaluate(() => {
      for (const origin of ['*', location.origin]) postMessage({ guiche: 'expired' }, origin)
    })
    await checkScreen('pay-embedded')
    await payAt(service, uri)
    await page.getByText('paid').waitFor()
    await frame.getByRole('heading', { name: 'Pagamento confirmado' }).waitFor()
    await frame.locator('body').press('Escape')
    await page.getByText('paid closed').waitFor()
    expect(await page.locator('#outcome').textContent()).toBe('paid closed ')
    expect(await page.locator('dialog').count()).toBe(0)
    // Mounted in an element of the page, it has no dialog to close.
    await page.evaluate('onmessage = ({ data }) => (document.title = data.guiche); Guiche.mount(place, pay.href)')
    await frame.getByRole('heading', { name: 'Pagamento confirmado' }).click()
    await page.keyboard.press('Escape')
    await expect.poll(async () => [await page.title(), await page.locator('iframe').count()]).toEqual(['closed', 1])
    expect(pageErrors).toEqual([])
    await close()
  })

  it('opens in the window of a site that may not frame it', async () => {
    const { url } = await make()
    const { page, close } = await visitShop(allowed.replace('localhost', '127.0.0.1'), url)
    await page.getByRole('link', { name: 'Pagar com Pix' }).click()
    await page.locator('dialog').waitFor()
    await page.waitForURL(url)
    await page.getByRole('heading', { name: 'Pague com Pix' }).waitFor()
    await close()
  })

  it('leaves a link that it cannot open to the browser', async () => {
    const address = `${service.baseUrl}/l/unknown`
    const { page, close } = await visitShop(allowed, address)
    await page.getByRole('link', { name: 'Pagar com Pix' }).click()
    await page.waitForURL(address)
    await close()
  })

  it('prints a receipt and a record without buttons, in the light theme', async () => {
    const { id, uri, url } = await make()
    await payAt(service, uri)
    const { endToEnd = '-' } = await untilStatus(service, id, 'PAID')
    // As narrow as a sheet: the dashboard then has its navigation for phones.
    const { page, close } = await visit(browser, { theme: 'dark', width: 390 })
    await page.goto(url)
    await page.emulateMedia({ media: 'print' })
    expect(await page.getByText(endToEnd).isVisible()).toBe(true)
    expect(await page.getByRole('link').or(page.getByRole('button')).count()).toBe(0)
    await savePdf(page, 'receipt')
    await page.emulateMedia({ media: 'screen' })
    const email = await inviteUser(service, { role: 'owner', merchantId: await findSandboxMerchant(service) })
    await signIn(page, service, email, `/transactions/${id}`)
    await page.getByText(endToEnd).first().waitFor()
    const scheme = async () => await page.evaluate(() => document.documentElement.dataset.mantineColorScheme)
    expect(await scheme()).toBe('dark')
    await page.emulateMedia({ media: 'print' })
    await expect.poll(scheme).toBe('light')
    expect(await page.getByRole('navigation').or(page.getByRole('button')).or(page.getByRole('banner')).count()).toBe(0)
    await savePdf(page, 'record')
    await page.emulateMedia({ media: 'screen' })
    await expect.poll(scheme).toBe('dark')
    await close()
  })

  it('loads nothing but itself and its stream, and leaves no cookie', async () => {
    await service.db.pool.query('delete from brandings')
    const { url } = await make()
    const { page, context, close } = await visit(browser, { locale: 'pt-BR' })
    const requests: string[] = []
    page.on('request', (request) => {
      if (!request.url().startsWith('data:')) requests.push(request.url())
    })
    const stream = page.waitForResponse(`${url}/events`)
    await page.goto(url)
    await stream
    expect(requests).toEqual([url, `${url}/events`])
    expect(await context.cookies()).toEqual([])
    await close()
  })
})

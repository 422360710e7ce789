import { EventEmitter, once } from 'node:events'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { chromiumPath, openChromium, type Visit, visit } from '../support/browser.ts'
import { returnUnannounced } from '../support/disputes.ts'
import { charge, chargeMany, payAt, untilStatus } from '../support/payments.ts'
import { payOne } from '../support/refunds.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { findSandboxMerchant, inviteUser, password, signIn } from '../support/users.ts'

describe.skipIf(chromiumPath === null)('an open dashboard', () => {
  let service: TestService
  let browser: Browser
  let email: string
  let desktop: Visit

  beforeAll(async () => {
    service = await startTestService({
      environment: { TOKEN_LIFETIME_SECONDS: '86400', REQUIRE_SECOND_FACTOR: 'developer' },
    })
    browser = await openChromium()
    email = await inviteUser(service, { role: 'owner', merchantId: await findSandboxMerchant(service) })
    desktop = await visit(browser)
    // Nothing is read again at intervals: what these tests see was reported.
    await desktop.page.addInitScript(() => {
      globalThis.setInterval = (() => 0) as unknown as typeof setInterval
    })
    await signIn(desktop.page, service, email)
  })
  afterAll(async () => {
    await browser.close()
    await service.stop()
  })

  const row = (page: Page, amount: string) => page.getByRole('row').filter({ hasText: amount })

  it('shows a new charge and its payment in the open list, and in its sums, without polling', async () => {
    const { page, go, pageErrors } = desktop
    await go('/transactions')
    await page.getByText('No transactions', { exact: true }).waitFor()
    const lists = countRequests(page, '/list/transaction')
    const { uri } = await charge(service, { amount: 77_700 })
    await row(page, 'R$777.00').getByText('Awaiting payment').waitFor()
    await payAt(service, uri)
    await row(page, 'R$777.00').getByText('Paid').waitFor()
    await page.getByRole('region', { name: 'Sums of this list' }).getByText('100%').waitFor()
    expect(await row(page, 'R$777.00').getAttribute('data-changed')).toBe('true')
    // The rows and their sums are read at each change, and first when the stream connects.
    expect(lists.count).toBeLessThanOrEqual(8)
    expect(pageErrors).toEqual([])
  })

  it('offers new payments to a reader of another page, and shows them on a click', async () => {
    const { page, go, checkScreenAtEachSize, pageErrors } = desktop
    const made = await chargeMany(service, 25)
    await go('/transactions')
    await page.getByText('26 in all').waitFor()
    await page.getByRole('button', { name: 'Next page' }).click()
    await expect.poll(async () => await page.getByRole('row').count()).toBe(7)
    const first = await page.getByRole('row').nth(1).textContent()
    for (const { uri } of made.slice(0, 2)) await payAt(service, uri)
    for (const { id } of made.slice(0, 2)) await untilStatus(service, id, 'PAID')
    await page.getByRole('button', { name: '2 new payments' }).waitFor()
    expect(await page.getByRole('row').nth(1).textContent()).toBe(first)
    await checkScreenAtEachSize('transactions-news')
    await page.getByRole('button', { name: '2 new payments' }).click()
    await page.waitForURL((url) => !url.search.includes('after='))
    await page.getByRole('button', { name: '2 new payments' }).waitFor({ state: 'detached' })
    expect(pageErrors).toEqual([])
  })

  it('moves no row of a list that is scrolled, also when time passes or the person returns to the tab', async () => {
    const { page, go, pageErrors, close } = await visit(browser)
    await page.clock.install()
    await signIn(page, service, email)
    await go('/transactions')
    await page.getByText('26 in all').waitFor()
    await page.evaluate(async () => {
      scrollTo(0, document.body.scrollHeight)
      // The page knows in the next frame that it is scrolled.
      for (const _ of [1, 2]) await new Promise((shown) => requestAnimationFrame(() => setTimeout(shown)))
    })
    const first = await page.getByRole('row').nth(1).textContent()
    // Charges of one moment are listed in any order: this one could be on the second page.
    service.clock.advance(1_000)
    await charge(service, { amount: 1_300 })
    await page.getByRole('button', { name: '1 change' }).waitFor()
    const [lists, others] = [countRequests(page, '/list/transaction'), countRequests(page, '/attention')]
    await page.clock.fastForward(61_000)
    await expect.poll(() => others.count).toBeGreaterThan(0)
    const before = others.count
    await page.clock.fastForward(6_000)
    await page.evaluate(() => window.dispatchEvent(new Event('visibilitychange')))
    await expect.poll(() => others.count).toBeGreaterThan(before)
    expect(lists.count).toBe(0)
    expect(await page.getByRole('row').nth(1).textContent()).toBe(first)
    await page.getByRole('button', { name: '1 change' }).click()
    await row(page, 'R$13.00').waitFor()
    expect(pageErrors).toEqual([])
    await close()
  })

  it('shows on an open payment what is left after the bank has returned a part', async () => {
    const { page, go, pageErrors } = desktop
    const { id, endToEnd } = await payOne(service, 2_590)
    await go(`/transactions/${id}`)
    await page.getByRole('button', { name: 'Refund', exact: true }).waitFor()
    await returnUnannounced(service, endToEnd, 590)
    await page.keyboard.press('Shift')
    await page.locator('[tabindex]', { hasText: /^Partly returned$/ }).focus()
    await page.getByRole('tooltip').getByText('R$20.00 of R$25.90 kept').waitFor()
    expect(pageErrors).toEqual([])
  })

  it('reads the figures of the month on the screen again when a payment arrives', async () => {
    const { page, go, pageErrors } = desktop
    const { id, uri } = await charge(service, { amount: 1_100 })
    const reads = countRequests(page, '/report/period')
    await go('/month?by=unknown')
    await expect.poll(() => reads.count).toBeGreaterThan(0)
    // The address may have any text: the files are then those of the default.
    await page.locator('a[href*="/report/month.zip"][href*="by=posted"]').waitFor()
    const before = reads.count
    await payAt(service, uri)
    await untilStatus(service, id, 'PAID')
    await expect.poll(() => reads.count).toBeGreaterThan(before)
    expect(pageErrors).toEqual([])
  })

  it('notifies of payments from the chosen amount, once it is allowed', async () => {
    const { page, go, context, checkScreenAtEachSize, pageErrors } = desktop
    await context.grantPermissions(['notifications'])
    await page.evaluate(() => {
      const shown: string[] = []
      class Shown extends Notification {
        // Without a window Chromium grants the request, and still reports `denied` here.
        static override get permission(): NotificationPermission {
          return 'granted'
        }
        constructor(title: string, options?: NotificationOptions) {
          super(title, options)
          shown.push(title)
        }
      }
      Object.assign(globalThis, { Notification: Shown, shown })
    })
    await go('/account')
    // A choice that is made while the browser asks for permission is kept.
    await page.evaluate(() => {
      const request = Notification.requestPermission.bind(Notification)
      Notification.requestPermission = async () => {
        await new Promise((allow) => addEventListener('allow', allow, { once: true }))
        return await request()
      }
    })
    await page.getByRole('switch', { name: 'Show desktop notifications' }).click()
    await page.getByRole('switch', { name: 'Play a sound' }).click()
    await page.evaluate(() => dispatchEvent(new Event('allow')))
    await page.getByRole('switch', { name: 'Show desktop notifications', checked: true }).waitFor()
    expect(await page.getByRole('switch', { name: 'Play a sound' }).isChecked()).toBe(true)
    await page.getByRole('switch', { name: 'Play a sound' }).click()
    await page.getByLabel('From this amount').fill('50')
    await checkScreenAtEachSize('notifications')
    for (const amount of [4_900, 5_100]) await payAt(service, (await charge(service, { amount })).uri)
    const readShown = async () => await page.evaluate(() => (globalThis as unknown as { shown: string[] }).shown)
    await expect.poll(readShown).toEqual(['Payment of R$51.00'])
    // All tabs share the choice, because only one of them notifies.
    const other = await context.newPage()
    await other.goto(page.url())
    await other.getByRole('switch', { name: 'Show desktop notifications' }).click()
    await page.getByRole('switch', { name: 'Show desktop notifications', checked: false }).waitFor()
    await other.close()
    expect(pageErrors).toEqual([])
  })

  it('ignores the keys of the keypad while a charge is created, as its buttons are disabled', async () => {
    const { page, go, pageErrors } = desktop
    await go('/charge?mode=counter')
    const amount = page.getByRole('status', { name: 'Amount' })
    await amount.waitFor()
    const keyboard = new EventEmitter()
    const typed = once(keyboard, 'typed')
    await page.route('**/transaction', async (route) => {
      await typed
      await route.fulfill({ status: 400, body: '' })
    })
    await page.keyboard.type('990')
    await page.getByRole('button', { name: 'Charge R$9.90' }).click()
    await page.locator('fieldset:disabled').waitFor()
    await page.keyboard.type('5')
    keyboard.emit('typed')
    await page.getByRole('alert').waitFor()
    expect(await amount.textContent()).toBe('R$9.90')
    await page.unrouteAll({ behavior: 'wait' })
    expect(pageErrors).toEqual([])
  })

  it('reconnects after it was offline, and shows what it missed', async () => {
    const { page, go, context } = desktop
    await go('/transactions?minAmount=70000')
    await page.getByText('1 in all').waitFor()
    await context.setOffline(true)
    await page.getByText('You are offline.').waitFor()
    await charge(service, { amount: 88_800 })
    await context.setOffline(false)
    await page.getByText('You are offline.').waitFor({ state: 'detached' })
    await row(page, 'R$888.00').waitFor()
    await page.getByText('2 in all').waitFor()
  })

  it('says that an export broke off, and repeats it', async () => {
    const { page, go, pageErrors } = desktop
    await go('/transactions')
    await page.evaluate(() => {
      const send = fetch
      globalThis.fetch = async (address, options) => {
        if (new Headers(options?.headers).get('accept') !== 'text/csv') return await send(address, options)
        globalThis.fetch = send
        const { status, headers, body } = await send(address, options)
        await body?.cancel()
        const pull = (stream: ReadableStreamDefaultController) => stream.error(new TypeError('network error'))
        return new Response(new ReadableStream({ pull }), { status, headers })
      }
    })
    await page.getByRole('button', { name: 'Export' }).click()
    await page.getByRole('menuitem', { name: 'For Excel' }).click()
    await page.getByRole('alert').getByText('The service cannot be reached.').waitFor()
    const saved = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Try again' }).click()
    expect((await saved).suggestedFilename()).toBe('transactions.csv')
    expect(pageErrors).toEqual([])
  })

  it('keeps what was typed while requests for its data fail, and says that the data may be old', async () => {
    const { page, go } = desktop
    await go('/webhooks?view=endpoints')
    await page.getByText('No endpoints yet').waitFor()
    await page.getByRole('button', { name: 'Add an endpoint' }).click()
    const url = page.getByRole('dialog').getByLabel('URL')
    await url.fill('https://shop.example.com/hook')
    // An answer that the SDK does not wait to repeat.
    await page.route(/\/webhook-endpoint\?/, async (route) => await route.fulfill({ status: 404 }))
    const notUpdated = page.getByText(/could not be updated and may be out of date/)
    // As when the person returns to the tab: the screen asks again, but not for what it read in the last five seconds.
    const returnToTab = async () => {
      await page.evaluate(() => window.dispatchEvent(new Event('visibilitychange')))
      return await notUpdated.isVisible()
    }
    await expect.poll(returnToTab).toBe(true)
    expect(await url.inputValue()).toBe('https://shop.example.com/hook')
    await page.unrouteAll({ behavior: 'wait' })
    await expect.poll(returnToTab).toBe(false)
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
  })

  it('shows a screen again by “Try again” after its own request got a broken response', async () => {
    const { page } = desktop
    const list = '**/dashboard/api/list/transaction'
    await page.route(list, async (route) => await route.fulfill({ json: { data: [null], next: null, previous: null } }))
    await page.goto(`${service.baseUrl}/dashboard/transactions?minAmount=70000`)
    const broken = page.getByRole('alert').filter({ hasText: 'This part could not be shown' })
    await broken.waitFor()
    await page.unroute(list)
    await broken.getByRole('button', { name: 'Try again' }).click()
    await row(page, 'R$888.00').waitFor()
    expect(await broken.count()).toBe(0)
    // React has reported the error of the test.
    desktop.pageErrors.length = 0
  })

  it('shows what a new role may do, without a reload', async () => {
    const { page, go, pageErrors } = desktop
    const setRole = async (role: string) =>
      await service.db.pool.query('update users set role = $1 where email = $2', [role, email])
    await go('/transactions')
    const people = page.getByRole('link', { name: 'People' })
    await people.waitFor()
    await setRole('finance')
    await people.waitFor({ state: 'detached' })
    await setRole('owner')
    await people.waitFor()
    // This role needs a second factor, which is added in the account.
    await setRole('developer')
    await page.getByRole('heading', { name: 'Your account' }).waitFor()
    await setRole('owner')
    await page.reload()
    await people.waitFor()
    expect(pageErrors).toEqual([])
  })

  it('asks to sign in again when the session has ended, and keeps the place and what was typed', async () => {
    const { page, go, checkScreenAtEachSize, pageErrors } = desktop
    await go('/charge')
    const description = page.getByLabel('What for')
    await description.fill('order-of-a-long-afternoon')
    await service.db.pool.query('delete from sessions')
    await page.getByText('Your session ended.').waitFor()
    await description.waitFor({ state: 'hidden' })
    await checkScreenAtEachSize('session-ended')
    await page.getByRole('textbox', { name: 'E-mail' }).fill(email)
    await page.getByRole('textbox', { name: 'Password' }).fill(password)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await description.waitFor()
    expect(await description.inputValue()).toBe('order-of-a-long-afternoon')
    expect(new URL(page.url()).pathname).toBe('/dashboard/charge')
    expect(pageErrors).toEqual([])
  })

  it('keeps nothing for another user who signs in when the session has ended', async () => {
    const { page, go, pageErrors } = desktop
    const other = await inviteUser(service, { role: 'owner', merchantId: await findSandboxMerchant(service) })
    const { id } = await charge(service, { amount: 1_234 })
    const recent = page.getByRole('option', { name: /R\$12\.34/ })
    await go(`/transactions/${id}`)
    await page.getByRole('heading', { name: /R\$12\.34/ }).waitFor()
    await page.keyboard.press('/')
    await recent.waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await go('/charge')
    const description = page.getByLabel('What for')
    await description.fill('order-of-somebody-else')
    await service.db.pool.query('delete from sessions')
    await page.getByText('Your session ended.').waitFor()
    await page.getByRole('textbox', { name: 'E-mail' }).fill(other)
    await page.getByRole('textbox', { name: 'Password' }).fill(password)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await description.waitFor()
    expect(await description.inputValue()).toBe('')
    await page.keyboard.press('Control+k')
    await page.getByRole('option').first().waitFor()
    expect(await recent.count()).toBe(0)
    expect(pageErrors).toEqual([])
  })
})

function countRequests(page: Page, part: string): { count: number } {
  const counted = { count: 0 }
  page.on('request', (request) => {
    if (request.url().includes(part)) counted.count += 1
  })
  return counted
}

import { readdir } from 'node:fs/promises'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { chromiumPath, openChromium, visit } from '../support/browser.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { inviteUser, signIn } from '../support/users.ts'

describe.skipIf(chromiumPath === null)('the guide', () => {
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

  it('is shown at both widths, in both themes, within its content security policy', async () => {
    const { page, lookAtEach, complaints, close } = await visit(browser)
    for (const name of ['index', 'quick-start', 'errors', 'dashboard']) {
      const answer = await page.goto(`${service.baseUrl}/guide/${name}.html`)
      expect(answer?.headers()['content-security-policy']).not.toContain('unsafe')
      await lookAtEach(`guide-${name}`)
    }
    expect(complaints).toEqual([])
    await close()
  })

  it('has an API page that gets its token with a client id and secret', async () => {
    const { page, complaints, close } = await visit(browser)
    await page.goto(`${service.baseUrl}/docs`)
    await page.getByRole('button', { name: 'Authorize' }).click()
    const form = page.locator('.auth-container').filter({ hasText: 'clientCredentials' })
    await form.getByLabel('client_id:').fill(service.sandbox.clientId)
    await form.getByLabel('client_secret:').fill('not the secret')
    await form.locator('button.authorize').click()
    await form
      .getByText(/invalid_client|Unauthorized/)
      .first()
      .waitFor()
    await form.getByLabel('client_secret:').fill(service.sandbox.clientSecret)
    await form.locator('button.authorize').click()
    await form.getByRole('button', { name: 'Remove authorization' }).waitFor()
    await form.getByRole('button', { name: 'Close' }).click()
    const balance = page.locator('#operations-Balance-get_balance')
    await balance
      .getByRole('button', { name: /balance/ })
      .first()
      .click()
    await balance.getByRole('button', { name: 'Try it out' }).click()
    await balance.getByRole('button', { name: 'Execute' }).click()
    await balance.locator('.live-responses-table').getByText('"available": 0').waitFor()
    // The page stores no credentials in the browser.
    expect(await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }))).toBe('{}')
    expect(complaints).toEqual([])
    await close()
  })

  it('has no page that is wider than a phone', async () => {
    const { page, close } = await visit(browser, { width: 390 })
    const folder = resolve('dist/guide')
    const names = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.html'))
    const wide: string[] = []
    for (const name of names) {
      await page.goto(pathToFileURL(`${folder}/${name}`).href, { waitUntil: 'load' })
      const excess = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
      if (excess > 0) wide.push(`${name}: ${excess} px`)
    }
    expect(wide).toEqual([])
    await close()
  })

  it('leads from the front page to all others, through its contents and its search', async () => {
    const { page, close, complaints } = await visit(browser)
    await page.goto(`${service.baseUrl}/guide`)
    const titles = await page.getByRole('navigation').getByRole('link').allTextContents()
    expect(titles.length).toBeGreaterThan(20)
    for (const title of titles.slice(1, 6)) {
      await page.getByRole('navigation').getByRole('link', { name: title, exact: true }).click()
      await page.getByRole('heading', { level: 1, name: title }).waitFor()
    }
    await page.getByRole('searchbox').fill('idempotency repeated')
    await page.getByRole('link', { name: /^Idempotency: What a repeated key gives/ }).click()
    await expect.poll(() => page.url()).toMatch(/idempotency\.html#what-a-repeated-key-gives$/)
    await page.getByRole('searchbox').fill('xyzzy')
    await page.getByText('Nothing is found.').waitFor()
    expect(complaints).toEqual([])
    await close()
  })

  it('is linked from the dashboard', async () => {
    const { page, look, close } = await visit(browser)
    await signIn(page, service, await inviteUser(service, { role: 'support' }))
    await page.getByRole('button', { name: /^Your account/ }).click()
    const link = page.getByRole('menuitem', { name: 'Guide' })
    await link.waitFor()
    await look('menu')
    const [opened] = await Promise.all([page.waitForEvent('popup'), link.click()])
    await opened.getByRole('heading', { level: 1, name: 'Guichê' }).waitFor()
    await close()
  })

  it('works from a folder, without a server', async () => {
    const { page, close, complaints } = await visit(browser)
    const folder = resolve('dist/guide')
    expect(await readdir(folder)).toContain('index.html')
    await page.goto(pathToFileURL(`${folder}/decisions/0001-postgresql-alone.html`).href)
    await page.getByRole('searchbox').fill('rate limits')
    await page.getByRole('link', { name: /^Errors: Rate limits/ }).click()
    await page.getByRole('heading', { name: 'Rate limits' }).waitFor()
    expect(await page.evaluate(() => getComputedStyle(document.body).margin)).toBe('0px')
    expect(complaints).toEqual([])
    await close()
  })
})

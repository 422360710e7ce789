import { Secret, TOTP } from 'otpauth'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { chromiumPath, openChromium, visit } from '../support/browser.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { inviteUser, openBrowser, password, signIn } from '../support/users.ts'

describe.skipIf(chromiumPath === null)('a user, for their own account,', () => {
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

  it('changes the password, and adds a second factor, which the next sign-in requires', async () => {
    const email = await inviteUser(service, { role: 'finance' })
    const { page, pageErrors, close } = await visit(browser)
    await signIn(page, service, email, '/account')
    const endOthers = page.getByRole('button', { name: 'End all other sessions' })
    await endOthers.waitFor()
    await page.getByLabel('Current password').fill(password)
    await page.getByLabel('New password').fill(password)
    await page.getByRole('button', { name: 'Change password' }).click()
    await endOthers.waitFor({ state: 'detached' })
    await openBrowser(service, { email, password })
    await page.reload()
    await endOthers.waitFor()
    await page.getByRole('button', { name: 'Add a second factor' }).click()
    await page.getByRole('dialog').getByLabel('Current password').fill(password)
    await page.getByRole('dialog').getByRole('button', { name: 'Continue' }).click()
    const secret = (await page.getByText(/^[A-Z2-7]{32}$/).textContent()) ?? ''
    const totp = new TOTP({ secret: Secret.fromBase32(secret) })
    const code = () => totp.generate({ timestamp: service.clock.now().getTime() })
    await page.getByLabel('Code').fill(code())
    await page.getByRole('button', { name: 'Turn on' }).click()
    await page.getByText('The second factor is on.').waitFor()
    await endOthers.waitFor({ state: 'detached' })
    expect(pageErrors).toEqual([])
    await close()
    service.clock.advance(60_000)
    const again = await visit(browser)
    await again.page.goto(`${service.baseUrl}/dashboard`)
    await again.page.getByLabel('E-mail').fill(email)
    await again.page.getByRole('textbox', { name: 'Password' }).fill(password)
    await again.page.getByRole('button', { name: 'Sign in' }).click()
    await again.page.getByText('Code from your authenticator app').waitFor()
    await again.checkScreen('second-factor')
    await again.page.keyboard.type(code())
    await again.page.getByRole('heading', { name: 'Today', exact: true }).waitFor()
    await again.close()
  })
})

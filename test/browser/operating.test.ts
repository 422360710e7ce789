import type { Browser, Locator } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sql } from '../../src/db/sql.ts'
import { freezePayouts, writeLossReason } from '../../src/ledger/payout-freeze.ts'
import { inviteUser as inviteTeammate } from '../../src/users/manage.ts'
import { chromiumPath, openChromium, type Visit, visit } from '../support/browser.ts'
import { chargeMany, payAt, untilStatus } from '../support/payments.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { inviteUser, password, signIn } from '../support/users.ts'

describe.skipIf(chromiumPath === null)('an operator', () => {
  let service: TestService
  let browser: Browser
  /** An admin, for all tests. */
  let desktop: Visit
  let email: string
  beforeAll(async () => {
    service = await startTestService()
    browser = await openChromium()
    desktop = await visit(browser)
    email = await inviteUser(service, { role: 'admin' })
    await signIn(desktop.page, service, email)
  })
  afterAll(async () => {
    await browser.close()
    await service.stop()
  })

  it('invites a teammate, changes their role and disables them', async () => {
    const { page, pageErrors } = desktop
    await page.getByRole('link', { name: 'People' }).click()
    await page.getByRole('button', { name: 'Invite a teammate' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('E-mail').fill('joao@example.com')
    await dialog.getByLabel('Role').click()
    await page.getByRole('option', { name: 'Support' }).click()
    await dialog.getByRole('button', { name: 'Create link' }).click()
    const link = await page.getByText(/\/dashboard\/welcome\//).textContent()
    await page.getByRole('button', { name: 'I copied it' }).click()

    const joao = await visit(browser)
    await joao.page.goto(link ?? '')
    await joao.page.getByLabel('Name').fill('João Lima')
    await joao.page.getByRole('textbox', { name: 'Password' }).fill(password)
    await joao.page.getByRole('button', { name: 'Create my account' }).click()
    await joao.page.getByRole('heading', { name: 'Today', exact: true }).waitFor()
    expect(await joao.page.getByRole('link', { name: 'People' }).count()).toBe(0)

    // The refusal of a field is shown beside its input until the input changes, or in the notice if it has no input.
    await page.getByRole('button', { name: 'Invite a teammate' }).click()
    await dialog.getByLabel('E-mail').fill('joao@example.com')
    await dialog.getByRole('button', { name: 'Create link' }).click()
    const refused = dialog.getByText('There is a user with this e-mail address already.')
    await refused.waitFor()
    expect(await dialog.getByRole('alert').count()).toBe(0)
    await dialog.getByLabel('E-mail').fill('joao@example.co')
    await refused.waitFor({ state: 'detached' })
    await page.route('**/dashboard/api/user', async (route) => {
      const errors = [{ field: 'name', code: 'required', message: 'is required' }]
      await route.fulfill({ status: 422, json: { code: 'validation_failed', errors } })
    })
    await dialog.getByRole('button', { name: 'Create link' }).click()
    await dialog.getByRole('alert').getByText('name: Fill in this field.').waitFor()
    await page.unrouteAll({ behavior: 'wait' })

    await page.reload()
    await page.getByRole('button', { name: 'Change João Lima' }).click()
    await page.getByRole('dialog').getByLabel('Role').click()
    await page.getByRole('option', { name: 'Read only' }).click()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('cell', { name: /Read only/ }).waitFor()
    await page.getByRole('button', { name: 'Change João Lima' }).click()
    await page.getByRole('button', { name: 'Disable' }).click()
    await page.getByText('João Lima is signed out everywhere immediately').waitFor()
    await page.getByRole('button', { name: 'Disable' }).click()
    await page.getByText('disabled', { exact: true }).waitFor()
    await joao.page.reload()
    await joao.page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await joao.close()

    await page.getByRole('link', { name: 'Audit log' }).click()
    await page.getByText('invited a user').first().waitFor()
    await page.getByRole('link', { name: 'a user', exact: true }).first().waitFor()
    expect(pageErrors).toEqual([])

    // Finance reads the audit log too, without links to screens that the role may not open.
    await signIn(page, service, await inviteUser(service, { role: 'finance' }), '/audit')
    await page.getByText('invited a user').first().waitFor()
    expect(await page.getByRole('link', { name: 'a user', exact: true }).count()).toBe(0)
    await signIn(page, service, email)
  })

  it('freezes payouts and lifts the freeze', async () => {
    const { page, checkScreen } = desktop
    await page.getByRole('link', { name: 'System' }).click()
    await page.getByRole('button', { name: 'Freeze payouts' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Reason').fill('a drill')
    // The response is lost. Payouts are frozen by then, but the dialog still requests a freeze: a retry lifts none.
    await page.route('**/payout-freeze', async (route) => {
      await route.fetch()
      await page.getByText('Payouts are frozen', { exact: true }).waitFor()
      // It stays open meanwhile, and nothing can be typed.
      expect(await dialog.getByLabel('Reason').isDisabled()).toBe(true)
      await page.keyboard.press('Escape')
      expect(await dialog.getByRole('button', { name: 'Close' }).isDisabled()).toBe(true)
      await route.abort()
    })
    await dialog.getByRole('button', { name: 'Freeze payouts' }).click()
    await dialog.getByRole('alert').waitFor()
    await page.unrouteAll({ behavior: 'wait' })
    await dialog.getByRole('button', { name: 'Freeze payouts' }).click()
    await dialog.waitFor({ state: 'detached' })
    await page.getByText('Payouts are frozen', { exact: true }).waitFor()
    await page.getByText('a drill.', { exact: true }).waitFor()
    await checkScreen('system-stopped')
    await page.getByRole('button', { name: 'Lift the payout freeze' }).click()
    await dialog.getByLabel('Reason').fill('it was a drill')
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'Lift the payout freeze' }).click()
    expect(await dialog.getByLabel('Reason').inputValue()).toBe('')
    await dialog.getByLabel('Reason').fill('it was a drill')
    await dialog.getByRole('button', { name: 'Lift the payout freeze' }).click()
    await page.getByText('Payouts are enabled', { exact: true }).waitFor()

    const now = service.clock.now()
    await freezePayouts(service.db, { reason: writeLossReason(now.toISOString()), now })
    await page.getByRole('button', { name: 'Lift the payout freeze' }).click()
    await dialog.getByLabel('Reason').fill('it was checked')
    await checkScreen('system-checks')
    const confirm = dialog.getByRole('button', { name: 'Lift the payout freeze' })
    expect(await confirm.isDisabled()).toBe(true)
    await dialog.getByLabel('I have checked all of this').check()
    await confirm.click()
    await page.getByText('Payouts are enabled', { exact: true }).waitFor()
  })

  it('finds transactions of all merchants by tabs, a period and a saved view, and keeps rows dense', async () => {
    const { page, go, checkScreenAtEachSize, pageErrors } = desktop
    const [first] = await chargeMany(service, 25)
    await payAt(service, first?.uri ?? '')
    await untilStatus(service, first?.id ?? '', 'PAID')
    await service.db.query(
      sql`update clients set name = 'Comércio de Materiais Elétricos e Ferragens Irmãos Albuquerque Ltda'`,
    )
    await go('/transactions')
    const rows = page.locator('tbody tr')
    await page.getByRole('tab', { name: 'All 25' }).waitFor()
    await page.getByRole('button', { name: 'Next page' }).click()
    await expect.poll(async () => await rows.count()).toBe(5)
    await page.getByRole('button', { name: 'Previous page' }).click()
    await expect.poll(async () => await rows.count()).toBe(20)
    await page.getByRole('button', { name: 'Created' }).click()
    await page.getByRole('columnheader', { name: 'Created' }).and(page.locator('[aria-sort="ascending"]')).waitFor()
    await page.getByRole('tab', { name: 'Paid 1' }).click()
    await expect.poll(async () => await rows.count()).toBe(1)
    await page.getByRole('region', { name: 'Sums of this list' }).getByText('R$10.00').first().waitFor()

    await page.getByRole('button', { name: 'Period: Any time' }).click()
    await page.getByRole('button', { name: 'Last 7 days' }).click()
    await page.getByRole('button', { name: 'Period: Last 7 days' }).waitFor()
    expect(page.url()).toContain('status=PAID&period=last7')
    await page.getByRole('button', { name: 'Views' }).click()
    await page.getByRole('menuitem', { name: 'Save this view' }).click()
    await page.getByRole('dialog').getByLabel('Name').fill('Paid this week')
    await page.getByRole('dialog').getByRole('button', { name: 'Save this view' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await go('/transactions')
    await page.getByRole('button', { name: 'Views' }).click()
    await page.getByRole('menuitem', { name: 'Paid this week' }).click()
    await page.getByRole('button', { name: 'Period: Last 7 days' }).waitFor()

    await go('/transactions?from=2026-03-10&until=2026-04-12')
    await page.getByRole('button', { name: 'Period: 10 Mar – 12 Apr' }).click()
    const period = page.getByRole('dialog', { name: 'Period' })
    await period.getByRole('grid', { name: 'March 2026' }).waitFor()
    await period.getByRole('grid', { name: 'April 2026' }).waitFor()
    await checkScreenAtEachSize('period')
    await period.getByRole('button', { name: 'Sunday, 12 April 2026' }).focus()
    for (const key of ['PageUp', 'ArrowRight', 'Enter', 'ArrowDown', 'Enter']) await page.keyboard.press(key)
    await period.waitFor({ state: 'detached' })
    await expect.poll(() => page.url()).toContain('from=2026-03-13&until=2026-03-20')
    await page.getByRole('button', { name: 'Period: 13 Mar – 20 Mar' }).click()
    await period.getByLabel('From').fill('1 Mar 2026')
    await expect.poll(() => page.url()).toContain('from=2026-03-01&until=2026-03-20')
    await period.getByLabel('From').fill('31 Feb 2026')
    await period.getByLabel('Until').fill('21/3/2026')
    await period.getByText('Enter a day such as 23 Nov 2026 or 2026-11-23.').waitFor()
    await expect.poll(() => page.url()).toContain('from=2026-03-01&until=2026-03-21')
    await page.keyboard.press('Escape')

    await go('/transactions')
    await page.getByRole('tab', { name: 'All 25' }).waitFor()
    const height = async () => (await rows.first().boundingBox())?.height ?? 0
    const comfortable = await height()
    await checkScreenAtEachSize('transactions-of-all')
    await page.getByRole('button', { name: 'Dense rows' }).click()
    expect(await height()).toBeLessThan(comfortable)
    await page.reload()
    await rows.first().waitFor()
    expect(await height()).toBeLessThan(comfortable)
    await page.getByRole('button', { name: 'Dense rows' }).click()
    await go('/withdrawals')
    await page.getByText('No withdrawals yet', { exact: true }).waitFor()
    await checkScreenAtEachSize('withdrawals-of-all')
    expect(pageErrors).toEqual([])
  })

  it('sees no figures of another merchant, filter or month while those of the chosen one are read', async () => {
    const { page, go, pageErrors } = desktop
    const { clientId } = service.sandbox
    const show = async (path: string) =>
      await page.evaluate((address) => history.pushState(null, '', `/dashboard${address}`), path)
    /** Opens something, and checks that no figures are shown before the answer. */
    const beforeAnswer = async (open: () => Promise<unknown>, figures: Locator) => {
      let [count, answer] = [0, () => {}]
      const answered = new Promise<void>((done) => {
        answer = done
      })
      await page.route(/\/(overview|summary|period)(\?|$)/, async (route) => {
        count += 1
        await answered
        await route.continue()
      })
      await figures.waitFor()
      await open()
      await expect.poll(() => count).toBeGreaterThan(0)
      await figures.waitFor({ state: 'hidden' })
      answer()
      await figures.waitFor()
      await page.unrouteAll({ behavior: 'wait' })
    }
    await go('/')
    const paid = page.getByText('Time to pay', { exact: true })
    await beforeAnswer(async () => await show(`/?client=${clientId}`), paid)
    await go('/transactions')
    const sums = page.getByRole('region', { name: 'Sums of this list' })
    await beforeAnswer(async () => await page.getByRole('tab', { name: 'Paid 1' }).click(), sums)
    await page.getByText('1 in all').waitFor()
    await go(`/month?client=${clientId}&month=2026-02`)
    const balance = page.getByRole('table', { name: 'Balance' })
    await beforeAnswer(async () => await show(`/month?client=${clientId}&month=2026-01`), balance)
    expect(pageErrors).toEqual([])
  })

  it('opens the deliveries of an endpoint for its merchant', async () => {
    const { page, go, pageErrors } = desktop
    const { clientId } = service.sandbox
    const made = await service.call<{ id: string }>('/webhook-endpoint', { body: { url: 'https://example.com/hook' } })
    expect(made.status, made.text).toBe(201)
    await go(`/webhooks?client=${clientId}&view=endpoints`)
    await page.getByRole('link', { name: 'Deliveries' }).click()
    await expect
      .poll(() => Object.fromEntries(new URL(page.url()).searchParams))
      .toEqual({ endpointId: made.body.id, client: clientId })
    expect(pageErrors).toEqual([])
  })

  it('marks changes by other admins as read for themselves, and not for the next user of the browser', async () => {
    const { page, go, pageErrors } = desktop
    const by = { actor: 'user:other@example.com' }
    await inviteTeammate(
      service,
      { email: 'rita@example.com', role: 'support', merchantId: null },
      { by, userId: null, merchantId: null },
    )
    await go('/')
    await page.reload()
    const notice = page.getByRole('alert', { name: 'Recent changes by other admins' })
    await notice.getByText('other@example.com').waitFor()
    await notice.getByRole('button', { name: 'Mark as read' }).click()
    await notice.waitFor({ state: 'detached' })
    await signIn(page, service, await inviteUser(service, { role: 'admin' }))
    await notice.getByText('other@example.com').waitFor()
    const read = page.waitForResponse((response) => response.url().includes('/dashboard/api/notice'))
    await signIn(page, service, email)
    await (await read).finished()
    await page.getByText('Time to pay', { exact: true }).waitFor()
    expect(await notice.count()).toBe(0)
    expect(pageErrors).toEqual([])
  })

  it('sees screens without errors at both widths, in both themes', async () => {
    const { page, go, checkScreenAtEachSize, pageErrors } = desktop
    for (const path of ['users', 'audit', 'system', 'account']) {
      await go(`/${path}`)
      await page.getByRole('heading', { level: 1 }).waitFor()
      await checkScreenAtEachSize(path)
    }
    expect(pageErrors).toEqual([])
  })
})

import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sql } from '../../src/db/sql.ts'
import { dayOf, windowOf } from '../../src/lib/brasilia.ts'
import { publicStatementKeys, verifyStatement } from '../../src/reconciliation/sign.ts'
import {
  chromiumPath,
  enlargeAmounts,
  findSpilled,
  largeAmounts,
  openChromium,
  type Visit,
  visit,
} from '../support/browser.ts'
import { fetchTransaction } from '../support/payments.ts'
import { payOne, setFixedFee } from '../support/refunds.ts'
import { fetchToken, startTestService, type TestService } from '../support/service.ts'
import { payingCustomer, payUnattributed, payWithFault, untilSuspense } from '../support/suspense.ts'
import { findSandboxMerchant, inviteUser, signIn } from '../support/users.ts'
import { eventually } from '../support/webhooks.ts'
import { expectLedgerConsistent } from '../support/withdrawals.ts'

describe.skipIf(chromiumPath === null)('the ledger in a browser', () => {
  let service: TestService
  let browser: Browser
  let day: string
  /** Falsifies the bank's own records: one payment has another amount, and one is gone. */
  let falsifyBank: () => Promise<void>
  /** A finance user of the operator, for all tests. */
  let desktop: Visit
  beforeAll(async () => {
    const started = await startTestService({ environment: { TOKEN_LIFETIME_SECONDS: '86400' } })
    service = started
    day = dayOf(service.clock.now())
    await setFixedFee(service, 'transaction', 30)
    await payOne(service, 5000)
    const changed = await payOne(service, 2000)
    const gone = await payOne(service, 3000)
    falsifyBank = async () => {
      await service.db.query(sql`update simulator.pix set amount = 1900 where end_to_end_id = ${changed.endToEnd}`)
      await service.db.query(sql`delete from simulator.pix where end_to_end_id = ${gone.endToEnd}`)
    }
    // The service closes the previous day as soon as it starts.
    await eventually(async () => (await service.db.query(sql`select from closed_days`)).length === 1)
    // A minute after midnight: the schedule closes the day half an hour later, so it does not interfere.
    service.clock.set(new Date(windowOf(day).to.getTime() + 60_000))
    const token = await fetchToken(service.baseUrl, service.sandbox)
    service = { ...started, token, call: async (path, call) => await started.call(path, { token, ...call }) }
    browser = await openChromium()
    desktop = await visit(browser)
    await signIn(desktop.page, service, await inviteUser(service, { role: 'finance' }), '/reconciliation')
  })
  afterAll(async () => {
    await browser.close()
    await expectLedgerConsistent(service)
    await service.stop()
  })

  const dialogButton = (page: Page, name: string) => page.getByRole('dialog').getByRole('button', { name, exact: true })

  it('is compared: one discrepancy is confirmed and another dismissed', async () => {
    const { page, go, checkScreen, pageErrors } = desktop
    await go('/reconciliation')
    await page.getByRole('button', { name: 'Compare now' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('From the start of').fill(day)
    await dialog.getByLabel('To the end of').fill(day)
    // Not earlier: a comparison of the schedule would find it first.
    await falsifyBank()
    await dialogButton(page, 'Compare').click()
    await page.getByText('3 payments, 0 returns and 0 payouts. Discrepancies: 2, new: 2.').waitFor()
    const amount = page.getByRole('article', { name: /^Amount/ })
    await amount.getByText('R$19.00', { exact: true }).waitFor()
    await checkScreen('differences')
    await amount.getByRole('button', { name: 'Confirm' }).click()
    await dialog.getByText('Available → At the PSPs').waitFor()
    await dialog.getByText('R$1.00', { exact: true }).waitFor()
    await checkScreen('difference-confirm')
    await dialogButton(page, 'Confirm').click()
    await amount.waitFor({ state: 'detached' })

    const missing = page.getByRole('article', { name: /^Missing at the PSP/ })
    await missing.getByRole('button', { name: 'Dismiss' }).click()
    await dialog.getByLabel('Reason').fill('the bank has lost it and pays')
    await dialogButton(page, 'Dismiss').click()
    await page.getByText('No open discrepancies', { exact: true }).waitFor()
    await page.getByText('Decided', { exact: true }).click()
    await page.getByText('the bank has lost it and pays').waitFor()
    await checkScreen('differences-decided')
    const posted = await service.db.query(sql`select amount from ledger_transfers where kind = 'correction'`)
    expect(posted).toEqual([{ amount: 100 }])
    expect(pageErrors).toEqual([])
  })

  it('closes a day, whose statement is downloaded as signed', async () => {
    const { page, go, checkScreen, pageErrors } = desktop
    await go('/reconciliation?tab=days')
    await page.getByRole('button', { name: 'Close a day' }).click()
    const dayInput = page.getByRole('dialog').getByLabel('Day (Brasília time)')
    await dayInput.fill('1/1/2099')
    await dialogButton(page, 'Close a day').click()
    await page.getByText(/ at the latest\.$/).waitFor()
    await dayInput.fill('')
    await page.getByRole('button', { name: 'Open calendar' }).click()
    const calendar = page.getByRole('dialog', { name: 'Calendar' })
    await calendar.getByRole('grid').waitFor()
    await checkScreen('close-day-calendar')
    await page.keyboard.press('Escape')
    await calendar.waitFor({ state: 'detached' })
    await dayInput.fill(day)
    await dialogButton(page, 'Close a day').click()
    await page.getByText('The day is closed: version 1 is signed.').waitFor()
    await page.getByRole('link', { name: 'View the day' }).click()
    await page.getByRole('heading', { name: 'Totals' }).waitFor()
    await checkScreen('closed-day')
    await page.emulateMedia({ media: 'print' })
    expect(
      await page
        .getByRole('navigation')
        .or(page.getByRole('button'))
        .or(page.getByRole('link', { name: 'Public keys' }))
        .count(),
    ).toBe(0)
    await page.getByText('SHA-256 of the file').waitFor()
    await page.emulateMedia({ media: 'screen' })
    const phone = await visit(browser, { width: 390 })
    await phone.context.addCookies(await page.context().cookies())
    await enlargeAmounts(phone.page)
    await phone.page.goto(page.url())
    for (const [locale, amount] of Object.entries(largeAmounts)) {
      if (locale === 'pt-BR') await phone.chooseLanguage('Português')
      await phone.page.getByText(amount).first().waitFor()
      await phone.checkScreen(`closed-day-${locale}`)
      expect(await findSpilled(phone.page)).toEqual([])
    }
    await phone.close()
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Signed statement' }).click(),
    ])
    expect(file.suggestedFilename()).toBe(`simulator-${day}-v1.jws`)
    const statement = await verifyStatement(
      await readFile(await file.path(), 'utf8'),
      await publicStatementKeys(service.db),
    )
    expect(statement).toMatchObject({ day, version: 1 })
    await service.db.query(sql`update simulator.pix set amount = amount + 1 where amount = 5000`)
    await page.getByRole('button', { name: 'Close again' }).click()
    await page.getByText('The day is closed: version 2 is signed.').waitFor()
    await page.getByRole('heading', { name: 'Changes since the previous version' }).waitFor()
    await page.getByText('PSP · Received: R$69.00 → R$69.01').waitFor()

    const cut = randomUUID()
    await service.db.query(sql`
      insert into reconciliation_runs (id, acquirer, kind, starts_at, ends_at, started_at, finished_at, state, error)
      select ${cut}, acquirer, kind, starts_at, ends_at, started_at, finished_at, 'interrupted', 'the bank did not answer'
      from reconciliation_runs where kind = 'daily' limit 1`)
    await go(`/reconciliation?requested=${cut}`)
    await page.getByText('Interrupted', { exact: true }).waitFor()
    await page.getByText('the bank did not answer').waitFor()
    await checkScreen('interrupted')
    await go('/reconciliation?tab=runs')
    const run = page.getByRole('row').filter({ hasText: 'the bank did not answer' })
    await run.getByRole('cell', { name: '–', exact: true }).waitFor()

    // A failed read is repeated on a click only.
    let reads = 0
    await page.route('**/reconciliation/requested/*', async (route) => {
      reads += 1
      await route.fulfill({ status: 502 })
    })
    await go(`/reconciliation?requested=${randomUUID()}`)
    await page.getByRole('alert').getByRole('button', { name: 'Try again' }).waitFor()
    await sleep(2_500)
    expect(reads).toBe(1)
    await page.getByRole('alert').getByRole('button', { name: 'Try again' }).click()
    await expect.poll(() => reads).toBe(2)
    await page.unrouteAll({ behavior: 'wait' })
    expect(pageErrors).toEqual([])
  })

  it('attributes an unattributed payment, and reverses the attribution', async () => {
    const more = { amount: 1_500, customer: payingCustomer, externalCode: 'order-77' }
    const { id, suspended } = await payUnattributed(service, more)
    const { page, go, checkScreen, pageErrors } = desktop
    await go('/reconciliation?tab=suspense')
    await page.getByRole('row', { name: /Maria Aparecida da Silva.*R\$15\.00/ }).click()
    await page.getByText('100 points', { exact: true }).waitFor()
    await checkScreen('suspense-payment')
    await page.getByRole('button', { name: /^Attribute to the charge of/ }).click()
    const dialog = page.getByRole('dialog')
    await dialog
      .getByText(/^R\$15\.00 from Maria Aparecida da Silva pays this charge of .*The fee is R\$0\.30\./)
      .waitFor()
    await dialog.getByText('order-77').waitFor()
    await checkScreen('suspense-payment-match')
    await dialogButton(page, 'Attribute payment').click()
    await page.getByRole('button', { name: 'Reverse the attribution' }).waitFor()
    expect(await fetchTransaction(service, id)).toMatchObject({ status: 'PAID' })
    await page.getByRole('button', { name: 'Reverse the attribution' }).click()
    await dialog.getByText(/The charge becomes REFUNDED/).waitFor()
    await dialogButton(page, 'Reverse the attribution').click()
    await page.getByRole('button', { name: 'Return', exact: true }).waitFor()
    expect(await fetchTransaction(service, id)).toMatchObject({ status: 'REFUNDED' })
    const actions = await service.db.query<{ action: string }>(sql`
      select action from audit_log where record_id = ${suspended.id} order by id`)
    expect(actions.map(({ action }) => action)).toEqual(['suspense.match', 'suspense.undo'])
    // The rows of the page at an earlier address, in the browser's history, may have left the list since.
    await go('/reconciliation?tab=suspense&page=2')
    await page.getByRole('region', { name: 'Unattributed payments' }).getByText(/R\$/).first().waitFor()
    await page.waitForURL((url) => !url.search.includes('page='))
    await go('/reconciliation?state=decided&page=2')
    await page.waitForURL((url) => !url.search.includes('page='))
    expect(pageErrors).toEqual([])
  })

  it('sets a fee, and a merchant’s users read their statement', async () => {
    const { page, go } = desktop
    const change = page.getByRole('button', { name: 'Change the fee: each withdrawal' })
    // Fees that could not be read are not shown as none.
    await page.route('**/dashboard/api/fee?*', async (route) => await route.abort())
    await go(`/ledger?client=${service.sandbox.clientId}`)
    await page.getByRole('alert').getByRole('button', { name: 'Try again' }).waitFor()
    expect([await page.getByText('no fee').count(), await change.isDisabled()]).toEqual([0, true])
    await page.unrouteAll({ behavior: 'wait' })
    await page.getByRole('button', { name: 'Try again' }).click()
    await change.click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Fixed amount').fill('1.50')
    await dialog.getByLabel('Percentage of the amount').fill('0.90')
    await dialog.getByText('Each withdrawal: R$1.50 + 0.9%, from now on.').waitFor()
    await page.keyboard.press('Enter')
    await page.getByText('R$1.50 + 0.9%', { exact: true }).waitFor()
    service.clock.advance(1_000)
    await change.click()
    await dialog.getByLabel('Fixed amount').fill('1.75')
    await page.keyboard.press('Enter')
    await page.getByText('R$1.75 + 0.9%', { exact: true }).waitFor()

    const merchantId = await findSandboxMerchant(service)
    const owner = await visit(browser, { locale: 'pt-BR', width: 390 })
    await signIn(
      owner.page,
      service,
      await inviteUser(service, { role: 'owner', merchantId }),
      `/ledger?kind=fee&at=${day}`,
    )
    await owner.page
      .getByRole('link', { name: /^Tarifa, lançamento/ })
      .first()
      .waitFor()
    expect(await owner.page.getByRole('link', { name: /^Pagamento, / }).count()).toBe(0)
    expect(await owner.page.getByRole('button', { name: /Alterar a tarifa/ }).count()).toBe(0)
    await owner.checkScreen('statement-portuguese')
    const clear = owner.page.getByRole('button', { name: 'Limpar filtros' })
    await clear.click()
    await owner.page
      .getByRole('link', { name: /^Pagamento, / })
      .first()
      .waitFor()
    // The day of the balances is no filter of the entries.
    expect([new URL(owner.page.url()).search, await clear.count()]).toEqual([`?at=${day}`, 0])
    await owner.page
      .getByRole('link', { name: /^Tarifa, lançamento/ })
      .first()
      .click()
    await owner.page.waitForURL(/\/transactions\//)
    expect(owner.pageErrors).toEqual([])
    await owner.close()
  })

  it('posts an operator’s entry, which is shown before it is posted', async () => {
    const { page, go, checkScreen, checkScreenAtEachSize, chooseLanguage, pageErrors } = desktop
    await go('/ledger')
    await page.getByRole('button', { name: 'New entry' }).click()
    const dialog = page.getByRole('dialog')
    const choose = async (field: string, option: string) => {
      await dialog.getByRole('combobox', { name: field }).click()
      await page.getByRole('option', { name: option, exact: true }).click()
    }
    await choose('Entry type', 'Fee draw')
    await dialog.getByText(/^Earned fees: R\$/).waitFor()
    await dialog.getByLabel('Amount').fill('12345.00')
    await dialog.getByLabel('Reason').fill('Fees of November')
    await dialogButton(page, 'Continue').click()
    await dialog.getByText(/^The fees received are only R\$.*\.$/).waitFor()
    await checkScreen('entry-refused')
    await dialog.getByLabel('Amount').fill('0.30')
    await dialogButton(page, 'Continue').click()
    await dialog.getByText('Fees → At the PSP (simulator)').waitFor()
    await checkScreen('entry-review')
    // The response is lost. The list shows the entry, and posting it again posts no second one.
    await page.route('**/dashboard/api/entry', async (route) => {
      if (route.request().method() !== 'POST') return await route.continue()
      await route.fetch()
      await route.abort()
    })
    await dialogButton(page, 'Post R$0.30').click()
    const posted = page.locator('article').filter({ hasText: 'Fees of November' })
    await posted.waitFor()
    // The dialog can be closed only when all that the screen shows was read again.
    await dialog.getByRole('button', { name: 'Post R$0.30', disabled: false }).waitFor()
    await dialog.getByRole('alert').filter({ hasNotText: 'sends no money' }).waitFor()
    await page.unrouteAll({ behavior: 'wait' })
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'New entry' }).click()
    await choose('Entry type', 'Fee draw')
    await dialog.getByLabel('Amount').fill('0.30')
    await dialog.getByLabel('Reason').fill('Fees of November')
    await dialogButton(page, 'Continue').click()
    await dialogButton(page, 'Post R$0.30').click()
    await dialog.waitFor({ state: 'detached' })
    await posted.getByText('R$0.30').waitFor()
    expect(await posted.count()).toBe(1)

    await page.getByRole('button', { name: 'New entry' }).click()
    await choose('Entry type', 'Manual entry')
    await dialog.getByRole('combobox', { name: 'From account' }).click()
    await page.getByRole('option', { name: 'At the PSP' }).click()
    await choose('To account', 'Fees')
    await dialog.getByLabel('Amount').fill('0.30')
    await dialog.getByLabel('Reason').fill('The draw was never made')
    await dialogButton(page, 'Continue').click()
    await dialog.getByText('A second person has to approve it. Nothing is posted before that.').waitFor()
    await dialogButton(page, 'Propose R$0.30').click()
    const waiting = page.getByRole('region', { name: 'Waiting for a second person' })
    await waiting.getByText('You requested this, so another person has to approve it.').waitFor()
    await checkScreen('entry-proposed')
    await chooseLanguage('Português')
    await page.getByRole('button', { name: 'Novo lançamento' }).click()
    await dialog.getByRole('combobox', { name: 'Tipo de lançamento' }).click()
    await page.getByRole('option', { name: 'Perdão de dívida' }).click()
    await checkScreenAtEachSize('entry-portuguese')
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await chooseLanguage('English')
    await waiting.getByRole('button', { name: 'Withdraw proposal' }).click()
    await dialogButton(page, 'Withdraw proposal').click()
    await waiting.waitFor({ state: 'detached' })
    expect(pageErrors).toEqual([])
  })

  it('is shown without errors at both widths, in both themes', async () => {
    const { endToEnd } = await payWithFault(service, 'without_txid', { amount: 1_234, customer: payingCustomer })
    const suspended = await untilSuspense(service, endToEnd, 'held')
    const { page, go, checkScreenAtEachSize, pageErrors } = desktop
    const paths = {
      'whole-ledger': '/ledger',
      ledger: `/ledger?client=${service.sandbox.clientId}`,
      suspended: `/reconciliation/suspense/${suspended.id}`,
      day: `/reconciliation/days/simulator/${day}`,
      'reconciliation-decided': '/reconciliation?state=decided',
    }
    for (const [name, path] of Object.entries(paths)) {
      await go(path)
      await page.getByRole('heading', { level: 1 }).waitFor()
      await checkScreenAtEachSize(name)
    }
    for (const tab of ['Unattributed payments', 'Closed days', 'Runs']) {
      await page.getByRole('tab', { name: tab }).click()
      await page.getByRole('region', { name: tab }).waitFor()
      await checkScreenAtEachSize(`reconciliation-${tab.toLowerCase().replace(' ', '-')}`)
    }
    expect(pageErrors).toEqual([])
  })
})

import type { Browser, Page, Route } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { setWithdrawalLimits } from '../../src/withdrawals/limits.ts'
import { rejectWithdrawal } from '../../src/withdrawals/reject.ts'
import { type Appearance, chromiumPath, openChromium, type Visit, visit } from '../support/browser.ts'
import { dispute, disputesOf, pollUntil } from '../support/disputes.ts'
import { charge, payAt } from '../support/payments.ts'
import { fetchRefundable, payOne, refund, setFixedFee } from '../support/refunds.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { findSandboxMerchant, inviteUser, signIn } from '../support/users.ts'
import { eventually } from '../support/webhooks.ts'
import { expectLedgerConsistent, fund, loseOutcome, untilWithdrawal, withdraw } from '../support/withdrawals.ts'

describe.skipIf(chromiumPath === null)('a person who handles money', () => {
  let service: TestService
  let browser: Browser
  let merchantId: string
  /** Users of the operator and of the merchant, each with a window for all tests. */
  let people: Record<'admin' | 'finance' | 'owner', Visit & { enter(path: string): Promise<void> }>
  let paidId: string
  let sentId: string
  beforeAll(async () => {
    service = await startTestService({ environment: { TOKEN_LIFETIME_SECONDS: '86400' } })
    browser = await openChromium()
    merchantId = await findSandboxMerchant(service)
    await fund(service, 5_000_000)
    await setFixedFee(service, 'withdrawal', 150)
    await setFixedFee(service, 'refund', 30)
    const limits = { perDay: 2_000_000, approvalAbove: 100_000 }
    await setWithdrawalLimits(service, { by: { actor: 'cli:test' }, merchantId, ...limits })
    const invite = async (role: string, appearance: Partial<Appearance>) => {
      const email = await inviteUser(service, { role, merchantId: role === 'owner' ? merchantId : null })
      const opened = await visit(browser, appearance)
      await opened.page.clock.install()
      return { ...opened, enter: async (path: string) => await signIn(opened.page, service, email, path) }
    }
    people = {
      admin: await invite('admin', { width: 390 }),
      finance: await invite('finance', { width: 1440 }),
      owner: await invite('owner', { width: 390, theme: 'dark' }),
    }
    paidId = (await payOne(service, 2_590)).id
    sentId = await withdraw(service, { amount: 2_000 })
    await untilWithdrawal(service, sentId, 'PROCESSED')
  })
  afterAll(async () => {
    await browser.close()
    await expectLedgerConsistent(service)
    await service.stop()
  })

  const ofClient = () => `?client=${service.sandbox.clientId}`
  const dialogOf = (page: Page) => page.getByRole('dialog')

  it('refunds part of a payment and sees it returned', async () => {
    const { id } = await payOne(service, 2_590)
    const { page, go, enter, checkScreen, pageErrors } = people.owner
    await enter(`/transactions/${id}`)
    await page.getByRole('button', { name: 'Refund', exact: true }).click()
    await dialogOf(page).getByText('R$25.90 will be returned to').waitFor()
    await dialogOf(page).getByText('Full amount: R$25.90').waitFor()
    await dialogOf(page).getByText('Partial amount').click()
    await page.keyboard.type('26')
    await dialogOf(page).getByText('Enter at most R$25.90.').waitFor()
    await dialogOf(page).getByRole('textbox', { name: 'Amount' }).fill('5.90')
    await dialogOf(page).getByLabel('Reason (optional)').fill('One item was missing')
    await dialogOf(page).getByText('R$5.90 will be returned to').waitFor()
    await dialogOf(page).getByText('R$6.20 is debited from the balance: the amount and a fee of R$0.30.').waitFor()
    await checkScreen('refund-dialog')
    await dialogOf(page).getByRole('button', { name: 'Refund R$5.90' }).dblclick()
    await dialogOf(page).waitFor({ state: 'detached' })
    await eventually(async () =>
      (await fetchRefundable(service, id)).refunds.some(({ status }) => status === 'REFUNDED'),
    )
    await page.clock.fastForward(5_000)
    await page.getByRole('region', { name: 'Refunds' }).getByText('Refunded').waitFor()
    const amounts = page.getByRole('region', { name: 'Amounts' })
    await expect
      .poll(async () => (await amounts.innerText()).split(/\s*\n\s*/))
      .toEqual([
        ...['Amounts', 'Paid', 'R$25.90', 'Refunded', '-R$5.90', 'Fee of the refunds', '-R$0.30'],
        ...['Net for you', 'R$19.70'],
      ])
    await checkScreen('refunded')
    const { refunds } = await fetchRefundable(service, id)
    expect(refunds.map(({ amount, reason }) => [amount, reason])).toEqual([[590, 'One item was missing']])
    await go('/transactions?status=PAID')
    // The focus is shown, as after the Tab key.
    await page.keyboard.press('Shift')
    await page
      .locator('[tabindex]', { hasText: /^Partly refunded$/ })
      .first()
      .focus()
    await page.getByRole('tooltip').getByText('R$20.00 of R$25.90 kept').waitFor()
    expect(pageErrors).toEqual([])
  })

  it('refunds several payments together, and sees which one was refused', async () => {
    const customer = { name: 'Marina do Nascimento Albuquerque', document: '529.982.247-25', email: 'm@example.com' }
    const [first, second, third] = [
      await payOne(service, 2_990, { more: { externalCode: 'together-1', customer } }),
      await payOne(service, 4_911, { more: { externalCode: 'together-2' } }),
      await payOne(service, 5_000, { more: { externalCode: 'together-3' } }),
    ]
    const { page, go, checkScreen, checkScreenAtEachSize, setAppearance, chooseLanguage, pageErrors } = people.owner
    await go('/transactions?status=PAID')
    for (const amount of ['R$29.90', 'R$49.11', 'R$50.00'])
      await page.getByRole('checkbox', { name: `Select ${amount} of` }).check()
    await chooseLanguage('Português')
    await page.getByRole('button', { name: /^Devolver 3 \(R\$\s129,01\)$/ }).waitFor()
    await checkScreenAtEachSize('transactions-selected')
    await chooseLanguage('English')
    await page.getByRole('button', { name: 'Refund 3 (R$129.01)' }).click()
    await dialogOf(page).getByText('Refund 3 payments, R$129.01 in total?').waitFor()
    await dialogOf(page).getByLabel('Reason (optional)').fill('The event was canceled')
    await dialogOf(page).getByText('R$129.91').waitFor()
    await checkScreenAtEachSize('transactions-bulk-refund')
    // Meanwhile a program refunds one of them.
    await refund(service, second.id)
    // The response is lost: the retry repeats the same request.
    const lose = async (route: Route) => {
      await route.fetch()
      await route.abort()
    }
    await page.route('**/dashboard/api/transaction/refund', lose, { times: 1 })
    await dialogOf(page).getByRole('button', { name: 'Refund 3 (R$129.01)' }).click()
    await dialogOf(page).getByText('The service cannot be reached.').waitFor()
    expect(await dialogOf(page).getByLabel('Reason (optional)').isDisabled()).toBe(true)
    await dialogOf(page).getByRole('button', { name: 'Refund 3 (R$129.01)' }).dblclick()
    await dialogOf(page).getByText('2 of 3 are being refunded.').waitFor()
    await dialogOf(page).getByText('This transaction cannot be refunded.').waitFor()
    await checkScreen('transactions-bulk-result')
    await dialogOf(page).getByRole('button', { name: 'Close' }).last().click()
    expect(await page.getByRole('group', { name: /selected$/ }).count()).toBe(0)
    for (const { id } of [first, third]) {
      const { refunds } = await fetchRefundable(service, id)
      expect(refunds.map(({ reason }) => reason)).toEqual(['The event was canceled'])
    }
    expect((await fetchRefundable(service, second.id)).refunds).toHaveLength(1)
    // The checkbox in the head of the table opens no row.
    await setAppearance({ width: 1440 })
    await page.getByRole('checkbox', { name: 'Select all' }).check()
    await page.getByRole('button', { name: 'Clear', exact: true }).click()
    await expect.poll(() => page.getByRole('checkbox', { name: 'Select all' }).isChecked()).toBe(false)
    expect(page.url()).toContain('/transactions?status=PAID')
    await setAppearance({ width: 390 })
    expect(pageErrors).toEqual([])
  })

  it('cancels an open charge, so that nobody can pay it', async () => {
    const { id, uri } = await charge(service, { amount: 2_590 })
    const { page, enter, checkScreen, pageErrors } = people.owner
    await enter(`/transactions/${id}`)
    await page.getByRole('button', { name: 'Cancel charge' }).click()
    await dialogOf(page).getByText('The charge of R$25.90 is removed at the PSP').waitFor()
    await checkScreen('cancel-dialog')
    await dialogOf(page).getByRole('button', { name: 'Cancel charge' }).dblclick()
    await dialogOf(page).waitFor({ state: 'detached' })
    await page.getByText('The charge was canceled').first().waitFor()
    await checkScreen('canceled')
    expect((await payAt(service, uri)).status).toBe(422)
    expect(pageErrors).toEqual([])
  })

  it('requests a withdrawal that another person approves', async () => {
    const requester = people.finance
    const { page } = requester
    await requester.enter(`/withdrawals${ofClient()}`)
    await page.getByRole('button', { name: 'Withdraw' }).click()
    await dialogOf(page).getByRole('textbox', { name: 'Amount' }).fill('1500')
    await dialogOf(page).getByRole('textbox', { name: 'Pix key' }).fill('nobody')
    await dialogOf(page).getByRole('button', { name: 'Continue' }).click()
    await dialogOf(page).getByText('Enter a valid PIX key.').waitFor()
    await dialogOf(page).getByRole('textbox', { name: 'Pix key' }).fill('(11) 98765-4321')
    await requester.checkScreen('withdrawal-dialog')
    await dialogOf(page).getByRole('button', { name: 'Continue' }).click()
    await dialogOf(page).getByText('+5511987654321').waitFor()
    await dialogOf(page).getByText('R$1,501.50').waitFor()
    await dialogOf(page).getByText('another person has to approve it').waitFor()
    await requester.checkScreen('withdrawal-review')
    await dialogOf(page).getByRole('button', { name: 'Withdraw R$1,500.00' }).dblclick()
    await page.getByText('You requested this, so another person has to approve it.').waitFor()
    expect(await page.getByRole('button', { name: 'Approve' }).count()).toBe(0)
    await requester.checkScreen('withdrawal-own')
    const id = page.url().split('/').at(-1)?.split('?')[0] ?? ''

    const approving = people.admin
    await approving.enter('/withdrawals')
    await approving.page.getByRole('article').getByText('R$1,500.00').waitFor()
    await approving.checkScreen('withdrawals-pending-all')
    await approving.page.getByRole('button', { name: 'Approve' }).click()
    await dialogOf(approving.page).getByText('+5511987654321').waitFor()
    await approving.checkScreen('withdrawal-approve')
    await dialogOf(approving.page).getByRole('button', { name: 'Approve R$1,500.00' }).dblclick()
    await approving.page.getByRole('article').waitFor({ state: 'detached' })
    await untilWithdrawal(service, id, 'PROCESSED')
    await page.clock.fastForward(5_000)
    await page.getByText('Sent', { exact: true }).first().waitFor()
    await requester.checkScreen('withdrawal-sent')
    expect([...requester.pageErrors, ...approving.pageErrors]).toEqual([])
  })

  it('approves several withdrawals together, and sees what became of each', async () => {
    const first = await withdraw(service, { amount: 120_000 })
    const second = await withdraw(service, { amount: 130_000 })
    const { page, go, enter, checkScreen, checkScreenAtEachSize, pageErrors } = people.admin
    await enter('')
    const strip = page.getByRole('region', { name: 'Needs attention' })
    await strip.getByRole('link', { name: 'Withdrawals that you can approve: 2' }).waitFor()
    await checkScreenAtEachSize('attention')
    await go('/withdrawals')
    await page.getByText('first time to this key').first().waitFor({ state: 'visible' })
    expect(await page.title()).toBe('(2) Withdrawals · Guichê')
    await page.getByLabel('Select all').check()
    await checkScreenAtEachSize('withdrawals-selected')
    await page.getByRole('button', { name: 'Approve 2: R$2,500.00' }).click()
    await dialogOf(page).getByText('Each is sent within seconds').waitFor()
    await checkScreen('withdrawals-bulk-approve')
    // Meanwhile another person rejects one of them.
    await rejectWithdrawal(
      { ...service, wakeDeliveries: () => {} },
      { id: second, reason: 'A test', by: { actor: 'cli:test' } },
    )
    await dialogOf(page).getByRole('button', { name: 'Approve 2: R$2,500.00' }).dblclick()
    await dialogOf(page).getByText('1 of 2 approved.').waitFor()
    await dialogOf(page).getByText('Changed meanwhile: Rejected').waitFor()
    await checkScreen('withdrawals-bulk-result')
    await dialogOf(page).getByRole('button', { name: 'Close' }).last().click()
    await page.getByRole('article').waitFor({ state: 'detached' })
    await untilWithdrawal(service, first, 'PROCESSED')
    await go('')
    await page.getByText('All in order').waitFor()
    await go('/withdrawals')
    expect(pageErrors).toEqual([])
  })

  it('sees a possible duplicate with the earlier withdrawal, and rejects it', async () => {
    const pixKey = { key: 'maria.souza@example.com', type: 'EMAIL' }
    await untilWithdrawal(service, await withdraw(service, { amount: 7_500, pixKey }), 'PROCESSED')
    service.clock.advance(3 * 60_000)
    const id = await withdraw(service, { amount: 7_500, pixKey })
    const { page, checkScreen, setAppearance, pageErrors } = people.admin
    await setAppearance({ width: 1440 })
    // The list was shown a moment ago, and is not read again that soon.
    await page.reload()
    const article = page.getByRole('article')
    await article.getByText('View the earlier one (3 min 0 s before)').waitFor()
    await checkScreen('withdrawals-duplicate')
    await article.getByRole('button', { name: 'Reject' }).click()
    await dialogOf(page).getByLabel('Reason').fill('The first one was meant to be the only one')
    await dialogOf(page).getByText('R$76.50 goes back to the balance').waitFor()
    await dialogOf(page).getByRole('button', { name: 'Reject' }).click()
    await page.getByRole('article').waitFor({ state: 'detached' })
    await untilWithdrawal(service, id, 'REJECTED')
    expect(pageErrors).toEqual([])
  })

  it('sends their own duplicate anyway, and cancels a withdrawal that is pending review', async () => {
    const pixKey = { key: '529.982.247-25', type: 'CPF' }
    await untilWithdrawal(service, await withdraw(service, { amount: 3_100, pixKey }), 'PROCESSED')
    const meant = await withdraw(service, { amount: 3_100, pixKey })
    const large = await withdraw(service, { amount: 200_000 })
    const { page, go, checkScreen, pageErrors } = people.owner
    await go('/withdrawals')
    await page.getByRole('button', { name: 'Send anyway' }).waitFor()
    await checkScreen('withdrawals-own-pending')
    await page.getByRole('button', { name: 'Send anyway' }).click()
    await dialogOf(page).getByText('Another R$31.00 will be sent to the same key').waitFor()
    await dialogOf(page).getByRole('button', { name: 'Send anyway' }).click()
    await untilWithdrawal(service, meant, 'PROCESSED')
    await dialogOf(page).waitFor({ state: 'detached' })
    await page.getByRole('article').getByRole('button', { name: 'Cancel withdrawal' }).click()
    await dialogOf(page).getByText('R$2,001.50 goes back to the balance immediately').waitFor()
    await dialogOf(page).getByRole('button', { name: 'Cancel withdrawal' }).click()
    await untilWithdrawal(service, large, 'CANCELED')
    await page.getByRole('article').waitFor({ state: 'detached' })
    expect(pageErrors).toEqual([])
  })

  it('enters the outcome of a withdrawal that the PSP cannot report, for another person to approve', async () => {
    const id = await withdraw(service, { amount: 150_000 })
    await loseOutcome(service, id)
    const { page, enter, checkScreen, chooseLanguage, pageErrors } = people.finance
    await enter(`/withdrawals/${id}${ofClient()}`)
    await chooseLanguage('Português')
    await page.getByRole('button', { name: 'Informar o resultado' }).click()
    await dialogOf(page).getByLabel('o envio não aparece: valor e tarifa voltam ao saldo').waitFor()
    await dialogOf(page).getByRole('button', { name: 'Cancelar' }).click()
    await chooseLanguage('English')
    await page.getByRole('button', { name: 'Enter the outcome' }).click()
    await dialogOf(page).getByLabel('shows the payout: it was sent').check()
    await dialogOf(page).getByLabel('End-to-end id in the statement').fill('E1')
    await dialogOf(page).getByLabel('Reason').fill('Searched the whole week')
    await dialogOf(page).getByRole('button', { name: 'Propose' }).click()
    await dialogOf(page)
      .getByText('Enter the E and the 31 characters of a payment made after the withdrawal was created.')
      .waitFor()
    await checkScreen('withdrawal-outcome')
    await dialogOf(page).getByLabel('does not show it: amount and fee go back to the balance').check()
    await dialogOf(page).getByRole('button', { name: 'Propose' }).dblclick()
    await dialogOf(page).waitFor({ state: 'detached' })
    await page.getByRole('article').getByText('Outcome of a withdrawal').waitFor()
    expect(await page.getByRole('button', { name: 'Enter the outcome' }).count()).toBe(0)
    await checkScreen('withdrawal-outcome-proposed')
    expect(pageErrors).toEqual([])
  })

  it('accepts one dispute that the bank opened, and rejects another', async () => {
    const [fraud, mistake] = [await payOne(service, 4_990), await payOne(service, 1_200)]
    for (const { id, endToEnd } of [fraud, mistake]) {
      await dispute(service, endToEnd)
      await pollUntil(service, id, 'BLOCKED')
    }
    service.clock.advance(6 * 24 * 60 * 60_000)
    const { page, enter, go, checkScreen, chooseLanguage, pageErrors } = people.finance
    // The session expired meanwhile.
    await enter('')
    // The item on Today and the badge lead to exactly the disputes that they count.
    await page.getByRole('link', { name: 'Disputes near their deadline: 2' }).click()
    await page.getByRole('tab', { name: 'To answer 2', selected: true }).waitFor()
    const menu = page.getByRole('link', { name: 'Disputes (MED)' })
    expect(await menu.getAttribute('href')).toBe('/dashboard/disputes?due=soon')
    const disputeOf = (amount: string) => page.getByRole('row').filter({ hasText: amount })
    await disputeOf('R$49.90')
      .getByText(/^\d+ h( \d+ min)? left$/)
      .waitFor()
    await checkScreen('disputes')
    const decide = async (amount: string, decision: string) => {
      await disputeOf(amount).getByRole('button', { name: 'Decide' }).click()
      await page.getByRole('menuitem', { name: decision }).click()
    }
    await decide('R$49.90', 'Accept')
    await dialogOf(page).getByText('R$49.90 of').waitFor()
    await checkScreen('dispute-accept')
    await dialogOf(page).getByRole('button', { name: 'Accept' }).click()
    await disputeOf('R$49.90').waitFor({ state: 'detached' })
    await decide('R$12.00', 'Reject')
    await dialogOf(page).getByRole('button', { name: 'Reject' }).click()
    await disputeOf('R$12.00').waitFor({ state: 'detached' })
    await go('/disputes')
    await page.getByText('No disputes to answer').waitFor()
    await page.getByRole('tab', { name: 'Won 1' }).click()
    await disputeOf('R$12.00').getByText('Rejected').waitFor()
    await page.getByRole('tab', { name: 'Lost 1' }).click()
    await disputeOf('R$49.90').getByText('to return it').waitFor()
    expect(await disputesOf(service, fraud.id)).toEqual([{ state: 'accepted', amount: 4_990 }])
    expect(await disputesOf(service, mistake.id)).toEqual([{ state: 'rejected', amount: 1_200 }])
    await go(`/transactions/${fraud.id}${ofClient()}`)
    await page.getByText('Dispute of R$49.90 accepted').waitFor()
    await page.getByText(/The dispute of R\$49\.90 was accepted/).waitFor()
    await checkScreen('record-disputed')
    await chooseLanguage('Português')
    await page.getByRole('button', { name: /^Mostrar \d+ etapas técnicas$/ }).click()
    await page.getByText(/^Contestação \(MED\): bloqueada · R\$\s49,90/).waitFor()
    await checkScreen('record-disputed-pt')
    // The screen shows no internal name of a kind, an account or a step.
    expect(await page.locator('main').innerText()).not.toMatch(/infraction_|refund_|payment_|\bUTC\b/)
    expect(pageErrors).toEqual([])
  })

  it('sees screens without errors at both widths, in both themes', async () => {
    const { page, enter, go, checkScreenAtEachSize, chooseLanguage, pageErrors } = people.admin
    await enter('/withdrawals')
    await page.getByRole('heading', { name: 'Withdrawals' }).waitFor()
    await checkScreenAtEachSize('withdrawals-all')
    await go(`/withdrawals${ofClient()}`)
    await page.getByRole('button', { name: 'Change' }).click()
    await dialogOf(page).getByLabel('Per withdrawal').fill('5000')
    await checkScreenAtEachSize('withdrawals-limits')
    await dialogOf(page).getByRole('button', { name: 'Save' }).click()
    await page.getByText('R$5,000.00').waitFor()
    await checkScreenAtEachSize('withdrawals')
    await go('/disputes?status=all')
    await checkScreenAtEachSize('disputes')
    // More disputes than are counted: their number is not known.
    await service.db.pool.query(`
      insert into disputes (merchant_id, id, transaction_id, acquirer, amount, state, opened_at, finished_at)
      select merchant_id, gen_random_uuid(), id, acquirer, 1, 'canceled', now(), now()
      from transactions, generate_series(1, 10001) where id = '${paidId}'`)
    await go('/disputes?status=won')
    await page.getByRole('tab', { name: 'All 10,000+' }).waitFor()
    expect(await page.getByText(/ in all$/).count()).toBe(0)
    await service.db.pool.query('delete from disputes where amount = 1')
    await page.getByRole('button', { name: 'Record a dispute' }).click()
    await dialogOf(page).getByLabel('Transaction id').fill(sentId)
    await dialogOf(page).getByText('This is the id of a withdrawal').waitFor()
    await dialogOf(page).getByLabel('Transaction id').fill(paidId)
    await dialogOf(page).getByText('R$25.90 for Sandbox').waitFor()
    await checkScreenAtEachSize('dispute-record')
    await dialogOf(page).getByRole('button', { name: 'Cancel' }).click()
    await chooseLanguage('Português')
    await go(`/withdrawals/${sentId}${ofClient()}`)
    await page.getByRole('heading', { name: 'Recebedor' }).waitFor()
    await checkScreenAtEachSize('withdrawal-portuguese')
    expect(pageErrors).toEqual([])
  })
})

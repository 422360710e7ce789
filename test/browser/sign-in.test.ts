import { randomUUID } from 'node:crypto'
import type { Browser, Route } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { invite } from '../../src/users/invite.ts'
import { chromiumPath, openChromium, type Visit, visit } from '../support/browser.ts'
import { type SignInProvider, signInClient, startSignInProvider } from '../support/oidc.ts'
import { charge } from '../support/payments.ts'
import { payOne } from '../support/refunds.ts'
import { addTestClient } from '../support/requests.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { findSandboxMerchant, inviteUser, password, signIn, signInOnPage } from '../support/users.ts'
import { fund } from '../support/withdrawals.ts'

describe.skipIf(chromiumPath === null)('the dashboard', () => {
  let service: TestService
  let browser: Browser
  let provider: SignInProvider
  /** Used by different people, one after another. */
  let desktop: Visit
  let phone: Visit
  beforeAll(async () => {
    provider = await startSignInProvider()
    const environment = {
      OIDC_ISSUER: provider.issuer,
      OIDC_CLIENT_ID: signInClient.clientId,
      OIDC_CLIENT_SECRET: signInClient.clientSecret,
      OIDC_ROLES_CLAIM: 'groups',
      OIDC_ROLES: 'staff=support',
      OIDC_NAME: 'Acme',
    }
    service = await startTestService({ environment })
    provider.open(service.baseUrl)
    browser = await openChromium()
    desktop = await visit(browser)
    phone = await visit(browser, { width: 390, locale: 'pt-BR' })
  })
  beforeEach(async () => {
    for (const one of [desktop, phone]) await one.reset()
  })
  afterAll(async () => {
    await browser.close()
    await service.stop()
    await provider.stop()
  })

  it('lets the first admin in through the link of the first start, and with a password after that', async () => {
    const { page, context, reset, setAppearance, checkScreen, pageErrors } = desktop
    await page.goto(service.firstAdminUrl ?? '')
    await page.getByLabel('E-mail').fill('maria@example.com')
    await checkScreen('welcome')
    await page.getByLabel('Name').fill('Maria Souza')
    await page.getByRole('textbox', { name: 'Password' }).fill('short')
    await page.getByRole('button', { name: 'Create my account' }).click()
    await page.getByText('A password has 12 to 256 characters.').waitFor()
    await page.getByRole('textbox', { name: 'Password' }).fill(password)
    await page.getByRole('button', { name: 'Create my account' }).click()
    await page.getByRole('heading', { name: 'Today', exact: true }).waitFor()
    expect(pageErrors).toEqual([])

    await reset()
    await setAppearance({ theme: 'dark' })
    await signInOnPage(page, service, 'maria@example.com')
    await page.getByRole('heading', { name: 'Today', exact: true }).waitFor()
    // One cookie for the session, one that marks this browser as known to the user.
    expect((await context.cookies()).map(({ httpOnly, sameSite }) => ({ httpOnly, sameSite }))).toEqual([
      { httpOnly: true, sameSite: 'Strict' },
      { httpOnly: true, sameSite: 'Strict' },
    ])
    await page.getByRole('button', { name: /Your account/ }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    expect(pageErrors).toEqual([])
  })

  it('reports a failed sign-in, and an invalid input in the chosen language', async () => {
    const { page, setAppearance, checkScreen } = desktop
    await setAppearance({ width: 390 })
    await page.goto(`${service.baseUrl}/dashboard`)
    await page.getByLabel('E-mail').fill(await inviteUser(service, { role: 'support' }))
    await page.getByRole('textbox', { name: 'Password' }).fill('a wrong password')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('alert').getByText('E-mail address, password or code is wrong.').waitFor()
    await checkScreen('sign-in')
    await page.getByText('PT', { exact: true }).click()
    await page.getByRole('heading', { name: 'Entrar' }).waitFor()
    expect(await page.evaluate(() => document.documentElement.lang)).toBe('pt-BR')
    // The browser would write these in English.
    const email = page.getByLabel('E-mail')
    for (const [text, hint] of [
      ['', 'Preencha este campo.'],
      ['maria', 'Informe um e-mail válido.'],
      ['maria@example.com', ''],
    ] as const) {
      await email.fill(text)
      await page.getByRole('button', { name: 'Entrar' }).click()
      expect(await email.evaluate((input: HTMLInputElement) => input.validationMessage)).toBe(hint)
    }
  })

  it('signs a person in through the identity provider, and explains a refusal', async () => {
    const person = { sub: 'ana', email: 'ana@acme.example', email_verified: true, name: 'Ana Souza' }
    provider.person = { ...person, groups: [] }
    const { page, pageErrors, checkScreen, chooseLanguage } = phone
    await page.goto(`${service.baseUrl}/dashboard/transactions`)
    await page.getByRole('link', { name: 'Continuar com Acme' }).click()
    await page.getByRole('alert').getByText('não tem um perfil aqui').waitFor()
    await checkScreen('sign-in-provider')
    provider.person = { ...person, groups: ['staff'] }
    await page.getByRole('link', { name: 'Continuar com Acme' }).click()
    await page.getByRole('heading', { name: 'Transações' }).waitFor()
    expect(new URL(page.url()).searchParams.get('signIn')).toBeNull()
    await chooseLanguage('English')
    await page.getByRole('button', { name: /Your account/ }).click()
    await page.getByRole('menuitem', { name: 'Your account' }).click()
    await page.getByText('You sign in at your identity provider.').waitFor()
    await checkScreen('account-of-provider')
    await page.getByRole('button', { name: /Your account/ }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await page.waitForURL(`${provider.issuer}/session/end**`)
    await page.goto(`${service.baseUrl}/dashboard?signIn=cancelled`)
    await page.getByRole('alert').getByText('The sign-in was canceled.').waitFor()
    await checkScreen('sign-in-cancelled')
    expect(pageErrors).toEqual([])
  })

  it('shows nothing of the previous session after it has ended', async () => {
    const email = await inviteUser(service, { role: 'finance', merchantId: await findSandboxMerchant(service) })
    const { page, checkScreen } = desktop
    await signIn(page, service, email)
    await page.getByRole('heading', { name: 'Today', exact: true }).waitFor()
    await service.db.pool.query('delete from sessions')
    // A request of the open screen may be refused before this, and then there is no link. A click that waited for one
    // would come in the next test, when somebody has signed in again.
    await page
      .getByRole('link', { name: 'Transactions', exact: true })
      .evaluateAll((links: HTMLElement[]) => links[0]?.click())
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await page.getByText('Your session ended.').waitFor()
    // The screen stays below the form, hidden, until somebody has signed in.
    expect(await page.getByText('Paid per day').first().isVisible()).toBe(false)
    await checkScreen('session-ended')
  })

  it('stays signed in when a sign-out fails, and signs out of a session that has ended already', async () => {
    const email = await inviteUser(service, { role: 'support' })
    const { page, pageErrors } = desktop
    const signOut = async () => {
      await page.getByRole('button', { name: /Your account/ }).click()
      await page.getByRole('menuitem', { name: 'Sign out' }).click()
    }
    const answerSignOut = async (answer: (route: Route) => Promise<void>) =>
      await page.route('**/dashboard/api/session', async (route) =>
        route.request().method() === 'DELETE' ? await answer(route) : await route.fallback(),
      )
    await signIn(page, service, email)
    await page.getByRole('heading', { name: 'Today', exact: true }).waitFor()
    await answerSignOut(async (route) => await route.abort())
    await signOut()
    await page.getByRole('alert').getByText('The service cannot be reached.').waitFor()
    await page.getByRole('heading', { name: 'Today', exact: true }).waitFor()
    await answerSignOut(async (route) => await route.fulfill({ status: 401, json: { code: 'not_signed_in' } }))
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    expect(await page.getByText('Your session ended.').count()).toBe(0)
    // The sign-out is not sent again in the new session.
    await page.unrouteAll({ behavior: 'wait' })
    await page.getByLabel('E-mail').fill(email)
    await page.getByRole('textbox', { name: 'Password' }).fill(password)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'Today', exact: true }).waitFor()
    await page.reload()
    await page.getByRole('heading', { name: 'Today', exact: true }).waitFor()
    await signOut()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    expect(pageErrors).toEqual([])
  })

  it('shows why a person’s data cannot be erased, then erases it, and asks for the document each time', async () => {
    const { id } = await charge(service, {
      amount: 1_490,
      customer: { name: 'Ivo Torres', document: '935.411.347-80', email: 'ivo@example.com' },
    })
    const { page, pageErrors } = desktop
    await signIn(page, service, await inviteUser(service, { role: 'admin' }), '/personal-data')
    await page.getByLabel('CPF or CNPJ').fill('935.411.347-80')
    await page.getByRole('button', { name: 'Erase' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Type the document again').fill('935.411.347-80')
    await dialog.getByRole('button', { name: 'Erase' }).click()
    // The refusal names a field for which the dialog has no input.
    await dialog.getByRole('alert').getByText(id).waitFor()
    await service.call(`/transaction/${id}/cancel`, { method: 'POST' })
    await dialog.getByRole('button', { name: 'Erase' }).click()
    await page.getByText('Data erased. Transactions: 1, withdrawals: 0.').waitFor()
    await dialog.waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Erase' }).click()
    expect(await dialog.getByLabel('Type the document again').inputValue()).toBe('')
    expect(pageErrors).toEqual([])
  })

  it('offers a merchant’s developer nothing that the role may not do', async () => {
    const merchantId = await findSandboxMerchant(service)
    const { page, go } = desktop
    await signIn(page, service, await inviteUser(service, { role: 'developer', merchantId }), '/credentials')
    await page.getByRole('button', { name: 'Revoke tokens', exact: true }).waitFor()
    expect(await page.getByRole('button', { name: 'Revoke tokens and secrets' }).count()).toBe(0)
    await go(`/withdrawals/${randomUUID()}`)
    await page.getByText('or your role has no access to it').waitFor()
  })

  it('repeats a charge of the sandbox whose answer was lost, and then creates another one', async () => {
    const { page } = desktop
    const path = `/sandbox?client=${service.sandbox.clientId}`
    await signIn(page, service, await inviteUser(service, { role: 'admin' }), path)
    const keys: string[] = []
    let isLost = false
    await page.route('**/transaction', async (route) => {
      if (route.request().method() !== 'POST') return await route.fallback()
      keys.push((route.request().postDataJSON() as { idempotencyKey: string }).idempotencyKey)
      if (!isLost) return await route.fallback()
      await route.fetch()
      await route.abort()
    })
    const create = page.getByRole('button', { name: 'Create', exact: true })
    const pay = page.getByRole('button', { name: 'Pay this charge' })
    await create.click()
    await pay.waitFor()
    isLost = true
    await create.click()
    await page.getByRole('alert').getByText('Something went wrong').waitFor()
    isLost = false
    await create.click()
    await pay.waitFor()
    expect(keys.at(-1)).toBe(keys[1])
    expect(new Set(keys).size).toBe(2)
    await create.click()
    await expect.poll(() => new Set(keys).size).toBe(3)
    await page.unrouteAll({ behavior: 'wait' })
  })

  it('shows field errors and the role of an invitation in Portuguese', async () => {
    const invitation = { email: 'ana@example.com', merchantId: null, role: 'support', invitedBy: null }
    const token = await service.db.transaction(async (tx) => await invite(tx, invitation, service.clock.now()))
    const { page, checkScreen } = phone
    await page.goto(`${service.baseUrl}/dashboard/welcome/${token}`)
    await page.getByText('Você vai acessar o painel do operador com o perfil Atendimento.').waitFor()
    await page.getByLabel('Nome').fill('Ana Lima')
    await page.getByRole('textbox', { name: 'Senha' }).fill('curta')
    await page.getByRole('button', { name: 'Criar minha conta' }).click()
    await page.getByText('A senha tem de 12 a 256 caracteres.').waitFor()
    await checkScreen('welcome-portuguese')
  })

  it('reports a lost connection in plain words, and how old the shown data is', async () => {
    const email = await inviteUser(service, { role: 'support' })
    const { page, context, checkScreen } = phone
    await signIn(page, service, email)
    await page.getByRole('heading', { name: 'Hoje', exact: true }).waitFor()
    await context.setOffline(true)
    const bar = page.getByText(/^Você está sem conexão\. Os dados são das \d\d:\d\d/)
    await bar.waitFor()
    await checkScreen('offline')
    await context.setOffline(false)
    await bar.waitFor({ state: 'detached' })
    await page.route('**/dashboard/api/overview*', async (route) => await route.abort())
    await page.goto(`${service.baseUrl}/dashboard`)
    await page.getByRole('alert').getByText('Não houve resposta do serviço.').waitFor()
    await page.getByRole('button', { name: /^Sua conta/ }).click()
    await page.getByRole('menuitem', { name: 'English' }).click()
    const notReached = page.getByRole('alert').getByText('The service cannot be reached.')
    await notReached.waitFor()
    await page.route('**/dashboard/api/client', async (route) => await route.abort())
    await page.goto(`${service.baseUrl}/dashboard/month`)
    await page.getByRole('heading', { name: 'Month' }).waitFor()
    await notReached.waitFor()
  })

  it('guides a newcomer: chooses the only merchant, explains what is missing, and cuts nothing off', async () => {
    await charge(service, {
      amount: 1_990,
      customer: { name: 'Maria da Silva', document: '529.982.247-25', email: 'maria@example.com' },
    })
    const email = await inviteUser(service, { role: 'admin' })
    const { page, go, checkScreen, pageErrors } = phone
    await signIn(page, service, email)
    await page.getByText('Simulado: sem dinheiro de verdade').last().waitFor()
    await go('/transactions')
    const amount = page.getByText(/R\$\s19,90/).last()
    await amount.waitFor()
    const box = await amount.boundingBox()
    expect((box?.x ?? 0) + (box?.width ?? 999)).toBeLessThanOrEqual(390 - 16)
    await checkScreen('newcomer-transactions')
    // The menu closes also when the user chooses the current screen.
    const more = page.getByRole('button', { name: 'Mais' })
    await more.click()
    await page.getByRole('navigation', { name: 'Menu' }).getByRole('link', { name: 'Transações' }).click()
    await expect.poll(() => more.getAttribute('aria-expanded')).toBe('false')
    await go('/charge')
    await expect.poll(() => new URL(page.url()).searchParams.get('client')).toBe(service.sandbox.clientId)
    await go('/audit')
    await page.getByText(email).first().waitFor()
    await checkScreen('newcomer-audit')
    await go('/nowhere')
    await page.getByText('Esta tela não existe').waitFor()
    await checkScreen('newcomer-nowhere')
    await go(`/transactions/${randomUUID()}`)
    await page.getByRole('alert').getByText('Nada foi encontrado aqui.').waitFor()
    expect(await page.getByRole('button', { name: 'Tentar de novo' }).count()).toBe(0)
    await go('/welcome/nobody')
    await page.getByRole('alert').waitFor()
    await checkScreen('newcomer-bad-link')
    expect(pageErrors).toEqual([])
  })

  it('is linked from the front page, at both widths and in both themes', async () => {
    const { page, setAppearance, checkScreenAtEachSize, pageErrors } = phone
    await setAppearance({ width: 1440 })
    await page.goto(service.baseUrl)
    await page.getByText('nenhum dinheiro de verdade é movimentado').waitFor()
    expect(await page.getByRole('link').count()).toBe(3)
    await checkScreenAtEachSize('front-page')
    for (const name of ['Guia', 'Referência da API', 'Painel']) {
      const href = await page.getByRole('link', { name }).getAttribute('href')
      expect((await page.request.get(`${service.baseUrl}/${href}`)).status(), name).toBe(200)
    }
    const icon = await page.request.get(`${service.baseUrl}/favicon.ico`)
    expect(icon.headers()['content-type']).toContain('image/svg+xml')
    await page.getByRole('link', { name: 'Painel' }).click()
    await page.getByRole('heading', { name: 'Entrar' }).waitFor()
    await page.goto(service.baseUrl)
    await page.getByRole('button', { name: 'Pague um Pix de teste' }).click()
    await page.getByRole('heading', { name: 'Pague com Pix' }).waitFor()
    await checkScreenAtEachSize('sample-charge')
    await page.getByRole('button', { name: 'Pagar no banco simulado' }).click()
    await page.getByRole('heading', { name: 'Pagamento confirmado' }).waitFor()
    expect(pageErrors).toEqual([])
  })

  it('has a strict content security policy and loads less than 250 kB', async () => {
    const answer = await service.call('/dashboard', { token: null })
    const policy = answer.headers.get('content-security-policy') ?? ''
    expect(policy).not.toContain('unsafe-eval')
    expect(policy).toContain("script-src 'self';")
    const { page, close } = await visit(browser)
    const sizes: number[] = []
    page.on('response', (response) => {
      sizes.push(Number(response.headers()['content-length'] ?? 0))
    })
    await signIn(page, service, await inviteUser(service, { role: 'admin' }))
    await page.getByRole('heading', { name: 'Paid per day' }).waitFor()
    await close()
    const kilobytes = sizes.reduce((sum, size) => sum + size, 0) / 1000
    expect(kilobytes).toBeGreaterThan(50)
    expect(kilobytes).toBeLessThan(250)
  })

  it('closes the dialog of another merchant or record when the user goes back in the browser', async () => {
    const { page, go, pageErrors } = desktop
    const other = await addTestClient(service)
    await fund(service, 10_000, other.merchantId)
    const [paid, opened] = [await payOne(service, 2_590), await payOne(service, 3_000)]
    const ofClient = `?client=${service.sandbox.clientId}`
    const dialog = page.getByRole('dialog')
    await signIn(page, service, await inviteUser(service, { role: 'admin' }), `/withdrawals${ofClient}`)
    await page.getByRole('button', { name: 'Withdraw' }).waitFor()
    await go(`/withdrawals?client=${other.clientId}`)
    await page.getByRole('button', { name: 'Withdraw' }).click()
    await dialog.getByRole('textbox', { name: 'Amount' }).fill('10')
    await dialog.getByRole('textbox', { name: 'Pix key' }).fill('maria.souza@example.com')
    await dialog.getByRole('button', { name: 'Continue' }).click()
    await dialog.getByText('R$10.00 from Another shop will be sent to').waitFor()
    const leave = async () => {
      await page.goBack()
      await dialog.waitFor({ state: 'detached' })
      expect(new URL(page.url()).searchParams.get('client')).toBe(service.sandbox.clientId)
    }
    await leave()
    await go(`/webhooks${ofClient}&view=endpoints`)
    await go(`/webhooks?client=${other.clientId}&view=endpoints`)
    await page.getByRole('button', { name: 'Add an endpoint' }).click()
    await dialog.waitFor()
    await leave()
    await go(`/transactions/${paid.id}${ofClient}`)
    await go(`/transactions/${opened.id}${ofClient}`)
    await page.getByRole('button', { name: 'Refund', exact: true }).click()
    await dialog.getByText('R$30.00 will be returned to').waitFor()
    await leave()
    await page.getByRole('heading', { name: /R\$25\.90/ }).waitFor()
    expect(pageErrors).toEqual([])
  })
})

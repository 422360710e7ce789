import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { seedDatabase } from '../../bench/seed/seed.ts'
import { sql } from '../../src/db/sql.ts'
import { newSecretKey, parseSecretKey } from '../../src/lib/secrets.ts'
import { setWithdrawalLimits } from '../../src/withdrawals/limits.ts'
import { chromiumPath, openChromium, visit } from '../support/browser.ts'
import { manualClock } from '../support/clock.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { charge } from '../support/payments.ts'
import { payOne } from '../support/refunds.ts'
import { fetchToken, startTestService, type TestService } from '../support/service.ts'
import { inviteUser, signIn } from '../support/users.ts'
import { fund, withdraw } from '../support/withdrawals.ts'

/** The folder to write to: `GUICHE_PICTURES=docs/pictures` updates the pictures of the guide. */
const folder = process.env.GUICHE_PICTURES

const bytesMax = 120_000

/** Takes the pictures of the guide on a database with 60 days of seeded data. */
describe.skipIf(chromiumPath === null)('the pictures of the guide', () => {
  let database: TestDatabase
  let service: TestService
  /** The same service, with the credentials of its largest merchant. */
  let shop: TestService
  let browser: Browser
  let admin: string
  let client: string
  beforeAll(async () => {
    database = await createTestDatabase()
    const secretKey = newSecretKey()
    const environment = { SECRET_KEY: secretKey, TOKEN_LIFETIME_SECONDS: '86400' }
    const clock = manualClock()
    const key = parseSecretKey(secretKey) ?? expect.unreachable()
    const { largest } = await seedDatabase(
      { db: database.db, clock, key, baseUrl: 'http://127.0.0.1:3000' },
      { transactions: 6_000, merchants: 12, days: 60 },
    )
    service = await startTestService({ database, environment, clock })
    browser = await openChromium()
    admin = await inviteUser(service, { role: 'admin' })
    const token = await fetchToken(service.baseUrl, largest)
    shop = { ...service, token, call: async (path, call) => await service.call(path, { token, ...call }) }
    const { merchantId } = largest
    await service.db.query(sql`update clients set name = 'Livraria Aurora' where merchant_id = ${merchantId}`)
    client = largest.clientId
    await fund(shop, 800_000, merchantId)
    await setWithdrawalLimits(service, { by: { actor: 'cli:test' }, merchantId, approvalAbove: 100_000 })
    for (const amount of [150_000, 240_000]) await withdraw(shop, { amount })
  })
  afterAll(async () => {
    await browser.close()
    await service.stop()
    await database.drop()
  })

  const address = (path: string) => `${service.baseUrl}/dashboard${path}?client=${client}`

  it('show the dashboard', { timeout: 300_000 }, async () => {
    const { page, pageErrors, close } = await visit(browser)
    await page.setViewportSize({ width: 1280, height: 1000 })
    // The pictures show the day of the data.
    await page.clock.setFixedTime(service.clock.now())
    await signIn(page, service, admin)
    await page.getByRole('button', { name: 'Do not show again' }).click()
    await page.locator('canvas').nth(1).waitFor()
    await take(page, 'today')
    const customer = { name: 'Maria da Silva', document: '529.982.247-25', email: 'maria@example.com' }
    const { id } = await payOne(shop, 25_900, { more: { customer, externalCode: 'order-2026-1004' } })
    await page.goto(address(`/transactions/${id}`))
    await page.getByText('R$259.00').first().waitFor()
    await take(page, 'record')
    await page.goto(address('/withdrawals'))
    await page.getByRole('button', { name: 'Approve' }).first().waitFor()
    await take(page, 'withdrawals')
    expect(pageErrors).toEqual([])
    await close()
  })

  it('show the payment page', async () => {
    const { page, close } = await visit(browser, { locale: 'pt-BR' })
    await page.setViewportSize({ width: 1000, height: 750 })
    const { id } = await charge(shop, { amount: 2590 })
    const { body } = await shop.call<{ url: string }>(`/transaction/${id}/payment-link`)
    await page.goto(body.url)
    await page.getByRole('timer').waitFor()
    await take(page, 'payment-page')
    await close()
  })

  /** Writes WebP, which the browser encodes itself. It is a quarter of the size of the PNG. */
  async function take(page: Page, name: string): Promise<void> {
    await page.waitForLoadState('networkidle')
    const png = await page.screenshot()
    const context = await browser.newContext()
    const url = await (await context.newPage()).evaluate(
      async (source) => {
        const picture = new Image()
        picture.src = source
        await picture.decode()
        const canvas = document.createElement('canvas')
        canvas.width = picture.width
        canvas.height = picture.height
        canvas.getContext('2d')?.drawImage(picture, 0, 0)
        return canvas.toDataURL('image/webp', 0.86)
      },
      `data:image/png;base64,${png.toString('base64')}`,
    )
    await context.close()
    const webp = Buffer.from(url.replace(/^data:image\/webp;base64,/, ''), 'base64')
    expect(webp.subarray(8, 12).toString()).toBe('WEBP')
    expect(webp.length).toBeLessThan(bytesMax)
    if (folder === undefined) return
    await mkdir(folder, { recursive: true })
    await writeFile(join(folder, `${name}.webp`), webp)
  }

  it.each(['today', 'record', 'withdrawals', 'payment-page'])('%s is small enough for a page', async (name) => {
    expect((await readFile(`docs/pictures/${name}.webp`)).length).toBeLessThan(bytesMax)
  })
})

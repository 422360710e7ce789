import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sql } from '../../src/db/sql.ts'
import { chromiumPath, openChromium, type Visit, visit } from '../support/browser.ts'
import { dispute, pollUntil } from '../support/disputes.ts'
import { payOne } from '../support/refunds.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { findSandboxMerchant, inviteUser, signIn } from '../support/users.ts'
import { eventually } from '../support/webhooks.ts'

describe.skipIf(chromiumPath === null)('a merchant', () => {
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

  /** A payment that is disputed, and a visit of the merchant's owner to its record. */
  async function visitDisputed(
    options: Parameters<typeof visit>[1] = {},
  ): Promise<Visit & { id: string; reference: string }> {
    const { id, endToEnd } = await payOne(service, 7_700)
    const reference = await dispute(service, endToEnd)
    await pollUntil(service, id, 'BLOCKED')
    const owner = await visit(browser, options)
    await owner.page.clock.install()
    const email = await inviteUser(service, { role: 'owner', merchantId: await findSandboxMerchant(service) })
    await signIn(owner.page, service, email, `/transactions/${id}`)
    return { ...owner, id, reference }
  }

  it('defends a payment against a dispute with a text and files', async () => {
    const { id, reference, page, go, checkScreen, checkScreenAtEachSize, chooseLanguage, pageErrors, close } =
      await visitDisputed({ width: 390, theme: 'dark' })
    const dialog = page.getByRole('dialog')
    const defence = page.getByRole('region', { name: 'Defence' })
    await defence.getByText('Not started').waitFor()
    await page.getByText('It is blocked until the dispute is decided.').waitFor()
    // Only the operator's users record decisions.
    expect(await page.getByText('record it under Disputes').count()).toBe(0)
    await checkScreen('defence-empty')
    expect(await defence.getByRole('button', { name: 'Send to the PSP' }).isDisabled()).toBe(true)
    await defence.getByLabel('What happened').fill('The customer received the shoes at the address of the order.')
    await defence.getByLabel('Carrier').fill('Correios')
    const png = Buffer.from('89504e470d0a1a0a00', 'hex')
    await defence.locator('input[type=file]').setInputFiles([
      { name: 'delivery.png', mimeType: 'image/png', buffer: png },
      { name: 'page.txt', mimeType: 'text/plain', buffer: Buffer.from('<!doctype html><script>alert(1)</script>') },
      { name: 'scan.pdf', mimeType: 'application/pdf', buffer: Buffer.alloc(5 * 1024 * 1024 + 1) },
    ])
    await defence.getByText('Only PDF, PNG, JPEG, WebP and plain text files can be added.').waitFor()
    await defence.getByText('Too large: the limit is 5 MB.').waitFor()
    await defence.getByRole('button', { name: 'Remove delivery.png' }).waitFor()
    await checkScreenAtEachSize('defence-draft')
    await defence.getByRole('button', { name: 'Discard page.txt' }).click()
    await defence.getByRole('button', { name: 'Discard scan.pdf' }).click()
    await defence.getByRole('button', { name: 'Save' }).click()
    await defence.getByText('Draft').waitFor()
    await page.reload()
    await go('/transactions')
    await go(`/transactions/${id}`)
    await defence.getByText('The customer received the shoes').waitFor()
    // What is typed last is saved with the sending.
    await defence.getByLabel('Received by').fill('Maria')
    const leave = page.getByRole('dialog', { name: 'Leave without saving?' })
    const leaving = [
      async () => await page.getByRole('link', { name: 'Guichê' }).click(),
      async () => await page.evaluate(() => history.back()),
    ]
    for (const goAway of leaving) {
      await goAway()
      await leave.getByRole('button', { name: 'Cancel' }).click()
      await leave.waitFor({ state: 'detached' })
      expect(new URL(page.url()).pathname).toBe(`/dashboard/transactions/${id}`)
    }
    await defence.getByLabel('Delivered on').fill('31/2/2026')
    await defence.getByRole('button', { name: 'Send to the PSP' }).click()
    await defence.getByText('Enter a day such as').waitFor()
    expect(await dialog.count()).toBe(0)
    await defence.getByLabel('Delivered on').fill('')
    await defence.getByRole('button', { name: 'Send to the PSP' }).click()
    await dialog.getByText('and one file').waitFor()
    await checkScreen('defence-send')
    await dialog.getByRole('button', { name: 'Send to the PSP' }).dblclick()
    await dialog.waitFor({ state: 'detached' })
    const received = async () =>
      await service.db.query<{ text: string; files: string[] }>(sql`
        select text, files from simulator.defences where dispute_id = ${reference}`)
    await eventually(async () => (await received()).length > 0)
    const [sent] = await received()
    expect(sent?.text).toContain('Transportadora: Correios\nRecebido por: Maria')
    expect(sent?.files).toHaveLength(1)
    await expect
      .poll(async () => {
        await page.clock.fastForward(2_000)
        return await defence.getByText('Sent', { exact: true }).count()
      })
      .toBe(1)
    expect(await defence.getByRole('textbox').count()).toBe(0)
    await checkScreen('defence-sent')
    await chooseLanguage('Português')
    await page.getByRole('region', { name: 'Defesa' }).getByText('O PSP recebeu a defesa em').waitFor()
    await checkScreen('defence-sent-pt')
    expect(await page.locator('main').innerText()).not.toContain('infraction')
    expect(pageErrors).toEqual([])
    await close()
  })

  it('uploads a too large image with white in place of its transparent parts, and no eleventh file', async () => {
    const { id, page, pageErrors, close } = await visitDisputed()
    const defence = page.getByRole('region', { name: 'Defence' })
    // Random colors, which PNG cannot compress, above a transparent half.
    const image = await page.evaluate(async () => {
      const canvas = document.createElement('canvas')
      canvas.width = 2000
      canvas.height = 2000
      const context = canvas.getContext('2d')
      const pixels = new ImageData(2000, 1000)
      for (let at = 0; at < pixels.data.length; at += 1) pixels.data[at] = at % 4 === 3 ? 255 : Math.random() * 256
      context?.putImageData(pixels, 0, 0)
      return canvas.toDataURL('image/png').split(',')[1] ?? ''
    })
    const buffer = Buffer.from(image, 'base64')
    expect(buffer.length).toBeGreaterThan(5 * 1024 * 1024)
    await defence.locator('input[type=file]').setInputFiles([{ name: 'scan.png', mimeType: 'image/png', buffer }])
    await defence.getByRole('button', { name: 'Remove scan.jpg' }).waitFor()
    const [file] = await service.db.query<{ content: Buffer }>(sql`
      select content from dispute_files join disputes on disputes.id = dispute_id where transaction_id = ${id}`)
    const color = await page.evaluate(async (jpeg) => {
      const photo = new Image()
      photo.src = `data:image/jpeg;base64,${jpeg}`
      await photo.decode()
      const canvas = document.createElement('canvas')
      const context = canvas.getContext('2d')
      context?.drawImage(photo, 0, photo.height - 1, 1, 1, 0, 0, 1, 1)
      return [...(context?.getImageData(0, 0, 1, 1).data ?? [])]
    }, file?.content.toString('base64'))
    expect(color).toEqual([255, 255, 255, 255])
    const uploads: string[] = []
    page.on('request', (request) => {
      if (request.method() === 'PUT') uploads.push(request.url())
    })
    const notes = Array.from({ length: 10 }, (_, index) => ({
      name: `note-${index}.txt`,
      mimeType: 'text/plain',
      buffer: Buffer.from(`note ${index}`),
    }))
    await defence.locator('input[type=file]').setInputFiles(notes)
    await defence.getByText('There can be at most 10 files.').waitFor()
    expect(uploads).toHaveLength(9)
    expect(pageErrors).toEqual([])
    await close()
  })
})

import { PNG } from 'pngjs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { recordAttribution } from '../../src/attribution/attribute.ts'
import { recordReversal } from '../../src/attribution/reverse.ts'
import { embedScript } from '../../src/pay/embed.ts'
import { createSettlement } from '../../src/transactions/settle.ts'
import { charge, payAt, untilStatus } from '../support/payments.ts'
import { readPdf } from '../support/read-files.ts'
import { refund, setFixedFee, untilRefund } from '../support/refunds.ts'
import { addTestClient } from '../support/requests.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { payUnattributed } from '../support/suspense.ts'
import { type Browser, findSandboxMerchant, inviteUser, openBrowser, password } from '../support/users.ts'
import { fund, untilWithdrawal, withdraw } from '../support/withdrawals.ts'

let service: TestService
let owner: Browser
beforeAll(async () => {
  service = await startTestService()
  const email = await inviteUser(service, { role: 'owner', merchantId: await findSandboxMerchant(service) })
  owner = await openBrowser(service, { email, password })
})
afterAll(async () => {
  await service.stop()
})

const plain = { color: null, shopUrl: null, embedOrigins: [] as string[], showsItems: false }
type Answered = Record<string, unknown> & { errors?: { field: string; code: string }[] }
const change = async (body: object) => {
  const { changedAt } = (await owner.call('/dashboard/api/branding')).body
  const put = { method: 'PUT', body: { ...plain, changedAt, ...body } }
  return await owner.call<Answered>('/dashboard/api/branding', put)
}
const linkOf = async (id: string) => (await service.call<{ url: string }>(`/transaction/${id}/payment-link`)).body.url
const make = async (more: Record<string, unknown> = {}) => {
  const made = await charge(service, { amount: 2590, ...more })
  return { ...made, url: await linkOf(made.id) }
}
const open = async (url: string) => {
  const answer = await fetch(url, { headers: { 'accept-language': 'pt-BR' } })
  return { status: answer.status, headers: answer.headers, text: await answer.text() }
}
/** A logo of noise, which does not compress: 60 × 49 pixels are almost the largest size that is accepted. */
const logoOf = (width: number, height: number) => {
  const png = new PNG({ width, height })
  for (let at = 0; at < png.data.length; at++) png.data[at] = (at * 7919 * (at >> 3)) & 0xff
  return PNG.sync.write(png).toString('base64')
}

describe('the branding of a merchant', () => {
  it('is on its page, which with the largest logo transfers less than 30 kB', async () => {
    const logo = logoOf(60, 49)
    const items = [{ title: 'Café moído', unitPrice: 1295, quantity: 2 }]
    const { url } = await make({ items })
    expect((await open(url)).text).not.toContain('Café')
    const { body } = await change({ color: '#FFCC00', shopUrl: 'https://loja.example', showsItems: true, logo })
    expect(body).toMatchObject({ color: '#ffcc00', shopUrl: 'https://loja.example/', showsItems: true })
    const page = await open(url)
    expect(page.text).toContain('2 × Café moído')
    expect(page.text).toContain('@media (prefers-color-scheme:dark){:root{--accent:#ffcc00;--on-accent:#04211c}}')
    expect(page.text).toContain('<a href="https://loja.example/" target="_top">Voltar à loja</a>')
    const [, path = ''] = /<img class="logo" src="([^"]+)"/.exec(page.text) ?? []
    const image = await fetch(new URL(path, url))
    expect(image.headers.get('content-type')).toBe('image/png')
    const bytes = (await image.arrayBuffer()).byteLength
    expect(bytes).toBeGreaterThan(11_000)
    expect(bytes + Buffer.byteLength(page.text)).toBeLessThan(30_000)
    // Without the field the logo stays; null removes it.
    expect((await change({})).body.logo).not.toBeNull()
    expect((await change({ logo: null })).body.logo).toBeNull()
    expect((await open(url)).text).not.toContain('class="logo"')
    expect((await fetch(new URL(path, url))).status).toBe(404)
  })

  it('is refused with a list of every field that is not valid, and nothing of it is saved', async () => {
    await change({ color: '#0055aa' })
    const { status, body } = await change({
      ...{ color: 'red', shopUrl: 'http://loja.example', logo: Buffer.from('<svg/>').toString('base64') },
      embedOrigins: [
        'https://ok.example',
        'https://a.example;script-src',
        'https://*.example',
        'http://a.example',
        '*',
      ],
    })
    expect(status).toBe(422)
    expect(body.errors?.map(({ field }) => field)).toEqual([
      ...['color', 'shopUrl', 'embedOrigins[1]', 'embedOrigins[2]', 'embedOrigins[3]', 'embedOrigins[4]', 'logo'],
    ])
    const tooLarge = await change({ logo: logoOf(70, 60) })
    expect(tooLarge.body.errors).toMatchObject([{ field: 'logo', code: 'too_large' }])
    for (const shopUrl of ['https://user:password@loja.example', 'javascript:alert(1)', 'https://a;b.example'])
      expect((await change({ shopUrl })).body.errors).toMatchObject([{ field: 'shopUrl' }])
    expect((await owner.call('/dashboard/api/branding')).body).toMatchObject({ color: '#0055aa', embedOrigins: [] })
  })

  it('names the sites that may frame the page, and no others', async () => {
    const { url } = await make()
    await change({ embedOrigins: ['https://loja.example', 'http://localhost:8080'] })
    const { headers, text } = await open(url)
    expect(headers.get('content-security-policy')).toMatch(
      /frame-ancestors https:\/\/loja.example http:\/\/localhost:8080$/,
    )
    expect(headers.get('x-frame-options')).toBeNull()
    expect(text).toContain('data-origins="https://loja.example http://localhost:8080"')
    await change({})
    const after = await open(url)
    expect(after.headers.get('content-security-policy')).toMatch(/frame-ancestors 'none'$/)
    expect(after.headers.get('x-frame-options')).toBe('SAMEORIGIN')
    // A wrong link may not be framed either.
    expect((await open(`${url}x`)).headers.get('x-frame-options')).toBe('SAMEORIGIN')
  })

  it('is changed only by a user who has read the current one, and the audit log has the change', async () => {
    await change({ color: '#123456', embedOrigins: ['https://loja.example'] })
    const late = await change({ color: '#654321', changedAt: null })
    expect([late.status, late.body.code]).toEqual([409, 'change_not_possible'])
    const rows = await service.db.pool.query(
      "select details from audit_log where action = 'branding.change' order by id",
    )
    expect(rows.rows.at(-1)?.details).toEqual({
      ...{ color: '#123456', origins: ['https://loja.example'], showsItems: false, hasLogo: false },
    })
  })
})

describe('the receipt', () => {
  const payer = { name: 'Célia Pagadora', document: '11144477735' }
  const fetchPdf = async (url: string) => readPdf(Buffer.from(await (await fetch(url)).arrayBuffer()))

  it('is on the page and a PDF once the charge is paid, with the document masked and without the name', async () => {
    const { id, uri, url } = await make({ externalCode: 'order-77' })
    expect((await fetch(`${url}/receipt.pdf`)).status).toBe(404)
    await payAt(service, uri, { payer })
    const { endToEnd = '-' } = await untilStatus(service, id, 'PAID')
    const page = await open(url)
    const answer = await fetch(`${url}/receipt.pdf`, { headers: { 'accept-language': 'pt-BR' } })
    expect(answer.headers.get('content-type')).toBe('application/pdf')
    expect(answer.headers.get('content-disposition')).toBe('attachment; filename="comprovante-pix.pdf"')
    expect(answer.headers.get('cache-control')).toBe('no-store')
    const text = readPdf(Buffer.from(await answer.arrayBuffer()))
    expect(text).toContain('25,90')
    expect(text).toContain('02/03/2026, 12:00:00 (horário de Brasília)')
    for (const shown of [page.text, text]) {
      expect(shown).toContain(endToEnd)
      expect(shown).toContain('***.444.777-**')
      for (const secret of ['Célia', 'Pagadora', '11144477735', 'order-77', id]) expect(shown).not.toContain(secret)
    }
    expect(await fetchPdf(`${url}/receipt.pdf`)).toContain('Pix')
    await refund(service, id, { amount: 590 })
    await untilStatus(service, id, 'PAID')
    await expect.poll(async () => (await open(url)).text).toContain('Pagamento devolvido em parte')
    expect((await open(url)).text).toContain('R$ 5,90 devolvidos')
    const english = await fetch(`${url}/receipt.pdf`, { headers: { 'accept-language': 'en' } })
    expect(readPdf(Buffer.from(await english.arrayBuffer()))).toContain('Returned to the payer')
    const many = await Promise.all(Array.from({ length: 6 }, async () => (await fetch(`${url}/receipt.pdf`)).status))
    expect(many).toContain(429)
  })

  it('is neither on the page nor a PDF once it is known that the payer paid for something else', async () => {
    const { id, url } = await make()
    const { endToEnd, suspended } = await payUnattributed(service)
    const by = { actor: 'cli:test' }
    const deps = { ...service, settlement: createSettlement(service), wakeDeliveries: () => {} }
    await recordAttribution(deps, { id: suspended.id, transactionId: id, by })
    const path = `/dashboard/api/transaction/${id}/receipt.pdf`
    const statuses = async () => [(await fetch(`${url}/receipt.pdf`)).status, (await owner.call(path)).status]
    expect(await statuses()).toEqual([200, 200])
    expect((await open(url)).text).toMatch(new RegExp(`10,00[\\s\\S]*${endToEnd}`))
    await recordReversal(deps, { id: suspended.id, by })
    const { text } = await open(url)
    for (const wrong of [endToEnd, 'Comprovante', 'Devolvido', 'devolvido', '10,00']) expect(text).not.toContain(wrong)
    expect(text).toMatch(/Código indisponível[\s\S]*25,90/)
    expect(await statuses()).toEqual([404, 404])
  })

  it('has the payer’s name for the merchant, and is not found by another merchant', async () => {
    const { id, uri } = await make({ externalCode: 'order-78' })
    const path = `/dashboard/api/transaction/${id}/receipt.pdf?language=pt`
    const read = async () => await fetch(`${service.baseUrl}${path}`, { headers: { cookie: owner.cookie } })
    expect((await read()).status).toBe(404)
    await payAt(service, uri, { payer })
    await untilStatus(service, id, 'PAID')
    const text = readPdf(Buffer.from(await (await read()).arrayBuffer()))
    for (const part of ['lia Pagadora', 'order-78', '***.444.777-**']) expect(text).toContain(part)
    expect(text).not.toContain('11144477735')
    const other = await addTestClient(service)
    const email = await inviteUser(service, { role: 'owner', merchantId: other.merchantId })
    expect((await (await openBrowser(service, { email, password })).call(path)).status).toBe(404)
  })

  it('also exists for a refund and a withdrawal, once they are sent', async () => {
    const read = async (path: string) => {
      const url = `${service.baseUrl}/dashboard/api/${path}/receipt.pdf?language=pt`
      const answer = await fetch(url, { headers: { cookie: owner.cookie } })
      return { status: answer.status, text: answer.ok ? readPdf(Buffer.from(await answer.arrayBuffer())) : '' }
    }
    const { id, uri } = await make({ amount: 50_000, externalCode: 'order-79' })
    await payAt(service, uri, { payer })
    const { endToEnd = '-' } = await untilStatus(service, id, 'PAID')
    const refunded = await refund(service, id, { amount: 590 })
    const { refunds } = await untilRefund(service, id, refunded, 'REFUNDED')
    const ofRefund = await read(`refund/${refunded}`)
    const endToEndRefund = refunds[0]?.endToEndRefund ?? '-'
    expect(endToEndRefund).toMatch(/^D/)
    const parts = [
      'Comprovante de devolu',
      '5,90',
      'lia Pagadora',
      '***.444.777-**',
      'order-79',
      endToEnd,
      endToEndRefund,
    ]
    for (const part of parts) expect(ofRefund.text).toContain(part)
    expect(ofRefund.text).not.toContain('11144477735')

    await fund(service, 1_000_000)
    await setFixedFee(service, 'withdrawal', 85)
    const pixKey = { key: '52998224725', type: 'CPF' }
    const withdrawal = await withdraw(service, { amount: 12_345, externalCode: 'payout-80', pixKey })
    const sent = await untilWithdrawal(service, withdrawal, 'PROCESSED')
    const before = await read(`withdrawal/${withdrawal}`)
    const shown = ['Comprovante de transfer', '123,45', '0,85', '***.982.247-**', 'payout-80', sent.endToEnd ?? '-']
    for (const part of shown) expect(before.text).toContain(part)
    for (const part of ['52998224725', 'Devolvido pelo recebedor']) expect(before.text).not.toContain(part)
    expect((await service.call(`/sandbox/withdrawal/${withdrawal}/return`, { body: { amount: 345 } })).status).toBe(200)
    await untilWithdrawal(service, withdrawal, 'REFUNDED')
    const returned = await read(`withdrawal/${withdrawal}`)
    for (const part of ['Devolvido pelo recebedor', '3,45']) expect(returned.text).toContain(part)
    // The simulated bank rejects this amount.
    const failed = await withdraw(service, { amount: 900_005 })
    await untilWithdrawal(service, failed, 'FAILED')
    expect((await read(`withdrawal/${failed}`)).status).toBe(404)
  })
})

it('the payment page has a script of less than 3 kB for shops, which every site may load', async () => {
  const answer = await fetch(`${service.baseUrl}/pay/embed.js`)
  expect(answer.headers.get('content-type')).toBe('text/javascript; charset=utf-8')
  expect(answer.headers.get('cross-origin-resource-policy')).toBe('cross-origin')
  expect(await answer.text()).toBe(embedScript)
  expect(Buffer.byteLength(embedScript)).toBeLessThan(3_000)
})

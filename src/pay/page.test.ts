import { describe, expect, it } from 'vitest'
import { chooseLanguage } from '../http/language.ts'
import { encodeDynamicBrCode } from '../pix/brcode.ts'
import { failureMessages, transactionStatuses } from '../transactions/status.ts'
import { cspHash } from './document.ts'
import { policyOf, renderNotice, renderPayment } from './page.ts'
import { isOpen, pageState } from './state.ts'
import type { PaymentRow } from './store.ts'

const now = new Date('2026-03-02T15:00:00.000Z')
const later = new Date('2026-03-02T15:30:00.000Z')

const row = (more: Partial<PaymentRow> = {}): PaymentRow => ({
  merchant_id: '0b7f3c0e-5c7b-4a5e-9a0d-3a1f4be0a2d0',
  id: '0b7f3c0e-5c7b-4a5e-9a0d-3a1f4be0a2d1',
  status: 'PIX_QRCODE_GENERATED',
  merchant_name: 'Padaria do João',
  amount: 123_456,
  pix_uri: '00020101021226',
  pix_expires_at: later,
  error_message: null,
  return_url: null,
  payment_date: null,
  changed_at: now,
  end_to_end: null,
  payer_document: null,
  receiver: null,
  returned: 0,
  description: null,
  items: null,
  logo_version: null,
  color: null,
  shop_url: null,
  embed_origins: null,
  ...more,
})
const render = (more: Partial<PaymentRow> = {}, language: 'pt' | 'en' = 'pt', at = now) =>
  renderPayment({ payment: row(more), token: 'token', language, now: at, isSimulated: false })

describe('the state', () => {
  it('is defined for every status', () => {
    const states = transactionStatuses.map((status) => [status, pageState(row({ status }), now)])
    expect(Object.fromEntries(states)).toEqual({
      PENDING: 'preparing',
      PIX_QRCODE_GENERATED: 'waiting',
      PAID: 'paid',
      PROCESSING_REFUND: 'paid',
      BLOCKED: 'paid',
      PROCESSING_INFRACTION: 'paid',
      REFUNDED: 'refunded',
      INFRACTION: 'refunded',
      FAILED: 'failed',
    })
    expect(transactionStatuses.filter((status) => isOpen({ status }))).toEqual(['PENDING', 'PIX_QRCODE_GENERATED'])
  })

  it('is expired from the moment when the code expires, unless it was paid', () => {
    const just = new Date(later.getTime() - 1)
    expect(pageState(row(), just)).toBe('waiting')
    expect(pageState(row(), later)).toBe('expired')
    expect(pageState(row({ status: 'FAILED' }), later)).toBe('expired')
    expect(pageState(row({ status: 'PAID' }), later)).toBe('paid')
  })
})

it('says that a charge was canceled, also after its code would have expired', () => {
  const canceled = { status: 'FAILED', error_message: failureMessages.canceled } as const
  expect(pageState(row(canceled), later)).toBe('canceled')
  expect(render(canceled)).toContain('Cobrança cancelada')
  expect(render(canceled, 'en')).toContain('Padaria do João canceled this charge.')
})

describe('the way back to the shop', () => {
  const return_url = 'https://shop.example.com/thanks?order=1&x=%20"'
  const shown = 'https://shop.example.com/thanks?order=1&#38;x=%20&#34;'

  it('is a link below the charge, and after the payment a button with the id of the transaction', () => {
    expect(render({ return_url })).toContain(`<p class="back"><a href="${shown}" target="_top">Voltar à loja</a></p>`)
    expect(render({ return_url })).not.toContain('transactionId=')
    const paid = render({ return_url, status: 'PAID', payment_date: now }, 'en')
    expect(paid).toContain(`href="${shown}&#38;transactionId=${row().id}" target="_top">Back to Padaria do João</a>`)
    expect(render({ return_url: 'https://shop.example.com/', status: 'PAID' })).toContain('.com/?transactionId=')
  })

  it('is the merchant’s own address where the transaction has none, and never names the transaction that was paid', () => {
    const shop_url = 'https://shop.example.com/'
    for (const more of [{}, { status: 'PAID' as const }])
      expect(render({ ...more, shop_url })).toContain(`"${shop_url}"`)
    expect(render({ shop_url, status: 'PAID' })).not.toContain('transactionId=')
    expect(render({ shop_url, return_url })).not.toContain(`"${shop_url}"`)
    // An expired code is replaced in the shop.
    expect(render({ shop_url }, 'pt', later)).toContain(`<a class="go" href="${shop_url}"`)
  })

  it('is not there without an address', () => {
    for (const status of ['PIX_QRCODE_GENERATED', 'PAID'] as const) expect(render({ status })).not.toContain('<a ')
  })
})

describe('the page', () => {
  it('formats amounts and times for Brazil, or for English', () => {
    expect(render()).toContain('R$ 1.234,56')
    expect(render()).toContain('Pague até 12:30<')
    expect(render({}, 'en')).toContain('R$1,234.56')
    const tomorrow = new Date('2026-03-03T02:59:00.000Z')
    expect(render({ pix_expires_at: tomorrow })).toContain('Pague até 23:59<')
    expect(render({ pix_expires_at: new Date('2026-03-03T03:00:00.000Z') })).toContain(
      'Pague até 03/03/2026 às\u00a000:00<',
    )
    expect(render({ status: 'PAID', payment_date: later })).toContain('Pago em 02/03/2026 às\u00a012:30')
    expect(render({ status: 'REFUNDED', changed_at: later }, 'en')).toContain('Mar 2, 2026 at\u00a012:30')
  })

  it('escapes a name, whatever it contains', () => {
    const page = render({ merchant_name: '<script>alert("1")</script> & \'Filhos\'' })
    expect(page).not.toContain('<script>alert')
    expect(page).toContain('&#60;script&#62;alert(&#34;1&#34;)&#60;/script&#62; &#38; &#39;Filhos&#39;')
  })

  it('shows no code that must not be paid, and reloads only while something may change', () => {
    for (const status of transactionStatuses) {
      const page = render({ status })
      expect(page.includes('00020101021226'), status).toBe(status === 'PIX_QRCODE_GENERATED')
      expect(page.includes('http-equiv="refresh"'), status).toBe(isOpen({ status }))
    }
    expect(render({}, 'pt', later)).not.toContain('00020101021226')
  })

  it('allows its own style and script by their hash, and nothing unsafe', () => {
    expect(policyOf(null)).not.toMatch(/unsafe|\*|https?:/)
    const page = render()
    for (const tag of ['style', 'script']) {
      const [, content = ''] = new RegExp(`<${tag}>(.*?)</${tag}>`, 's').exec(page) ?? []
      expect(policyOf(row())).toContain(`${tag}-src ${cspHash(content)};`)
    }
    expect(page).not.toMatch(/ style=| on\w+="/)
    expect(page.match(/<style>/g)).toHaveLength(1)
    expect(page.match(/<script>/g)).toHaveLength(1)
  })

  it('may be framed by the merchant’s sites only', () => {
    expect(policyOf(row())).toContain("frame-ancestors 'none'")
    const sites = ['https://shop.example.com', 'https://other.example']
    expect(policyOf(row({ embed_origins: sites }))).toMatch(
      /frame-ancestors https:\/\/shop.example.com https:\/\/other.example$/,
    )
  })

  it('shows the name that the code has, because the bank shows it', () => {
    const pix_uri = encodeDynamicBrCode({
      location: 'pix.example.com/x',
      merchantName: 'PADARIA LTDA',
      merchantCity: 'Rio',
    })
    expect(render({ pix_uri })).toContain('No app do seu banco aparecerá: <b>PADARIA LTDA</b>')
    expect(render()).toContain('aparecerá: <b>Padaria do João</b>')
  })

  it('shows what is bought, escaped', () => {
    const item = { title: 'Pão <b>', unitPrice: 100, quantity: 3 }
    const items = [item]
    expect(render({ items })).toContain('<li><span>3 × Pão &#60;b&#62;</span><span>R$ 3,00</span></li>')
    expect(render({ items, description: 'Pedido 7' })).toContain('<p class="bought">Pedido 7</p>')
    expect(render({ items: Array.from({ length: 23 }, () => item) })).toContain('<li>e mais 3</li>')
  })

  it('has a receipt once it is paid, with the payer’s document masked', () => {
    const paid = { status: 'PAID', payment_date: now, end_to_end: 'E123', payer_document: '11144477735' } as const
    const page = render(paid)
    expect(page).toContain('<dd>E123</dd>')
    expect(page).toContain('<dd>***.444.777-**</dd>')
    expect(page).not.toContain('11144477735')
    expect(page).toContain('href="token/receipt.pdf"')
    expect(render({ ...paid, payer_document: 'anything else' })).not.toContain('anything')
    expect(render({ ...paid, status: 'FAILED' })).not.toContain('E123')
  })

  it('says how much was returned, and that a dispute is examined', () => {
    const paid = { payment_date: now, end_to_end: 'E123', amount: 1000 } as const
    const partly = render({ ...paid, status: 'PAID', returned: 250 })
    expect(partly).toContain('<h1>Pagamento devolvido em parte</h1>')
    expect(partly).toContain('R$ 2,50 devolvidos')
    expect(render({ ...paid, status: 'REFUNDED', returned: 1000 })).toContain('<h1>Pagamento devolvido</h1>')
    for (const status of ['BLOCKED', 'PROCESSING_INFRACTION'] as const)
      expect(render({ ...paid, status })).toContain('em análise pelos bancos')
    expect(render({ ...paid, status: 'PAID' })).not.toContain('em análise')
  })

  it('has a notice in both languages for an address without a payment', () => {
    for (const notice of ['unknown', 'limited', 'broken'] as const) {
      expect(renderNotice(notice, 'pt')).toMatch(/<html lang="pt-BR">.*<h1>/s)
      expect(renderNotice(notice, 'en')).not.toBe(renderNotice(notice, 'pt'))
    }
  })
})

it.each([
  [undefined, 'pt'],
  ['', 'pt'],
  ['pt-BR,pt;q=0.9,en;q=0.8', 'pt'],
  ['en-US,en;q=0.9,pt-BR;q=0.8', 'en'],
  ['de-DE,en;q=0.5,pt;q=0.4', 'en'],
  ['en;q=0.1, pt;q=0.2', 'pt'],
  ['en;q=0', 'pt'],
  ['es-AR,es', 'pt'],
  ['entropy', 'pt'],
  ['EN', 'en'],
  ['*', 'pt'],
])('Accept-Language %s is answered in %s', (accepted, language) => {
  expect(chooseLanguage(accepted)).toBe(language)
})

it.each([
  [undefined, 'en'],
  ['es-AR,es', 'en'],
  ['fr,pt;q=0.5', 'pt'],
  ['en;q=0.1, pt;q=0.2', 'pt'],
] as const)('Accept-Language %s is answered in %s where English is first', (accepted, language) => {
  expect(chooseLanguage(accepted, 'en')).toBe(language)
})

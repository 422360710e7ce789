import { describe, expect, it } from 'vitest'
import { failureMessages, transactionStatuses } from '../transactions/status.ts'
import { policy, renderNotice, renderPayment } from './page.ts'
import { isOpen, pageState } from './state.ts'
import type { PaymentRow } from './store.ts'
import { chooseLanguage } from './text.ts'

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
  ...more,
})
const render = (more: Partial<PaymentRow> = {}, language: 'pt' | 'en' = 'pt', at = now) =>
  renderPayment({ payment: row(more), language, now: at, isPretended: false })

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

  it('is expired from the second in which the code expires, unless it was paid', () => {
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
    expect(render({ return_url })).toContain(`<p class="leave"><a href="${shown}">Voltar à loja</a></p>`)
    expect(render({ return_url })).not.toContain('transactionId=')
    const paid = render({ return_url, status: 'PAID', payment_date: now }, 'en')
    expect(paid).toContain(`href="${shown}&#38;transactionId=${row().id}">Back to Padaria do João</a>`)
    expect(render({ return_url: 'https://shop.example.com/', status: 'PAID' })).toContain('.com/?transactionId=')
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

  it('shows no code that must not be paid, and no script once nothing changes', () => {
    for (const status of transactionStatuses) {
      const page = render({ status })
      expect(page.includes('00020101021226'), status).toBe(status === 'PIX_QRCODE_GENERATED')
      expect(page.includes('<script>'), status).toBe(isOpen({ status }))
      expect(page.includes('http-equiv="refresh"'), status).toBe(isOpen({ status }))
    }
    expect(render({}, 'pt', later)).not.toContain('00020101021226')
  })

  it('allows its own style and script by their hash, and nothing unsafe', () => {
    expect(policy).not.toMatch(/unsafe|\*|https?:/)
    const page = render()
    expect(page).not.toMatch(/ style=| on\w+="/)
    expect(page.match(/<style>/g)).toHaveLength(1)
    expect(page.match(/<script>/g)).toHaveLength(1)
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

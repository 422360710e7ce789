import type { Language } from '../lib/alert-settings.ts'
import { holderName, maskDocument } from '../reports/receipt.ts'
import { type Html, html } from './html.ts'
import { icons } from './icons.ts'
import type { Shown } from './page.ts'
import { isDisputed, pageState } from './state.ts'
import type { PaymentRow } from './store.ts'
import { words } from './text.ts'

/** The card once there is no code to pay: the outcome, what to do next, and after a payment its receipt. */
export function renderEnd(shown: Shown): Html {
  const { payment, language, now } = shown
  const t = words[language]
  const state = pageState(payment, now)
  const isPaid = payment.end_to_end !== null && (state === 'paid' || state === 'refunded')
  const isPartly = isPaid && payment.returned > 0 && payment.returned < payment.amount
  const icon = {
    preparing: icons.clock,
    waiting: icons.clock,
    expired: icons.clock,
    canceled: icons.cross,
    failed: icons.cross,
    paid: icons.check,
    refunded: icons.returned,
  }
  return html`<div class="end">
${icon[state]}
<h1>${isPartly ? t.partly : t.titles[state]}</h1>
<p class="amount">${t.money(payment.amount)}</p>
<p class="merchant">${t.to} <b>${payment.merchant_name}</b></p>
<p class="quiet">${says(shown, state, isPartly)}</p>
${isDisputed(payment) && html`<p class="quiet">${t.disputed}</p>`}
${isPaid && renderReceipt(shown)}
${renderReturn(payment, language, state === 'paid')}
</div>`
}

function says({ payment, language }: Shown, state: ReturnType<typeof pageState>, isPartly: boolean): string {
  const t = words[language]
  const { merchant_name: merchant, changed_at: changedAt } = payment
  if (isPartly) return t.partlyReturned(t.money(payment.returned), t.dateTime(changedAt))
  const sentences = {
    preparing: t.preparing,
    waiting: t.preparing,
    expired: t.expired(merchant),
    canceled: t.canceled(merchant),
    failed: t.failed(merchant),
    paid: t.paidAt(t.dateTime(payment.payment_date ?? changedAt)),
    refunded: t.refundedAt(t.dateTime(changedAt)),
  }
  return sentences[state]
}

/** Anyone with the link can see it, so it has neither the payer's name nor a reference of the merchant. */
function renderReceipt({ payment, token, language }: Shown): Html {
  const t = words[language]
  const payer = payment.payer_document === null ? null : maskDocument(payment.payer_document)
  const rows: [string, string | null][] = [
    [t.receipt.paidAt, payment.payment_date && t.dateTime(payment.payment_date)],
    [t.receipt.receiver, holderName(payment.receiver, payment.merchant_name)],
    [t.receipt.payer, payer],
    [t.receipt.returned, payment.returned > 0 ? t.money(Math.min(payment.returned, payment.amount)) : null],
    [t.receipt.endToEnd, payment.end_to_end],
  ]
  return html`<section class="receipt"><h2>${t.receipt.title}</h2>
<dl>${rows.map(([name, value]) => value !== null && html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>
<p class="tools"><a href="${token}/receipt.pdf" target="_blank" rel="noopener">${t.receipt.pdf}</a><button type="button" class="print" hidden>${t.receipt.print}</button></p></section>`
}

/**
 * The way back to the merchant. After the payment a `returnUrl` gets the id of the transaction, which the merchant
 * fetches: its status proves the payment, this visit does not.
 */
function renderReturn(payment: PaymentRow, language: Language, isPaid: boolean): Html | null {
  const t = words[language]
  const { id, merchant_name, return_url, shop_url } = payment
  const shop = return_url ?? shop_url
  if (shop === null) return isPaid ? html`<p class="quiet close">${t.close}</p>` : null
  // Appended as text: parsing the address could change how its own parameters are written.
  const namesIt = isPaid && return_url !== null
  const address = namesIt ? `${shop}${shop.includes('?') ? '&' : '?'}transactionId=${id}` : shop
  return html`<a class="go" href="${address}" target="_top">${t.goOn(merchant_name)}</a>`
}

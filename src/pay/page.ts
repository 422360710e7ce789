import type { Language } from '../lib/alert-settings.ts'
import { decodeBrCode } from '../pix/brcode.ts'
import { qrCodeDataUrl } from '../pix/qrcode.ts'
import { cspHash, renderBackLink, renderDocument, renderLogo, stylePolicy } from './document.ts'
import { renderEnd } from './end.ts'
import { type Html, html } from './html.ts'
import { icons } from './icons.ts'
import { script } from './script.ts'
import { isOpen, pageState } from './state.ts'
import type { PaymentRow } from './store.ts'
import { style } from './style.ts'
import { type Notice, toMoment, words } from './text.ts'

const styleHash = cspHash(style)
const scriptHash = cspHash(script)

/**
 * The page may load its own style and the merchant's colors, its one script, inline images and the merchant's logo, and
 * call its own server. Only pages of the merchant's sites may frame it.
 */
export function policyOf(payment: Pick<PaymentRow, 'color' | 'embed_origins'> | null): string {
  return [
    "default-src 'none'",
    stylePolicy(styleHash, payment),
    `script-src ${scriptHash}`,
    "img-src data: 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    `frame-ancestors ${payment?.embed_origins?.length ? payment.embed_origins.join(' ') : "'none'"}`,
  ].join('; ')
}

/** A browser without scripts reloads the page this often, while something may change. */
const refreshSeconds = 10

/** `token`: the last part of the page's address. Its links are relative to it. */
export type Shown = { payment: PaymentRow; token: string; language: Language; now: Date; isSimulated: boolean }

export function renderPayment(shown: Shown): string {
  const { payment, token, language, now, isSimulated } = shown
  const shop = payment.return_url ?? payment.shop_url
  const t = words[language]
  const state = pageState(payment, now)
  const seconds =
    payment.pix_expires_at === null ? 0 : Math.max(0, payment.pix_expires_at.getTime() - now.getTime()) / 1000
  const amount = t.money(payment.amount)
  return renderDocument({
    language,
    title: `${state === 'waiting' ? amount : t.titles[state]} · ${payment.merchant_name}`,
    origins: payment.embed_origins?.join(' ') ?? '',
    style,
    color: payment.color,
    head: isOpen(payment) ? html`<noscript><meta http-equiv="refresh" content="${refreshSeconds}"></noscript>` : null,
    body: html`${renderLogo(payment, token)}${isSimulated && html`<p class="simulated">${t.simulated}</p>`}
<article data-state="${state}" data-seconds="${Math.floor(seconds)}"${isOpen(payment) && html` data-open`}>
${state === 'waiting' && payment.pix_uri !== null ? renderCode({ ...shown, uri: payment.pix_uri }) : renderEnd(shown)}
</article>
${renderBackLink(shop, language)}`,
    script,
  })
}

function renderCode({ payment, uri, language, now, isSimulated }: Shown & { uri: string }): Html {
  const t = words[language]
  const { pix_expires_at: expiresAt } = payment
  return html`<div class="what">
<h1>${t.titles.waiting}</h1>
<p class="amount">${t.money(payment.amount)}</p>
<p class="merchant">${t.to} <b>${payment.merchant_name}</b></p>
${renderContent(payment, language)}
<p class="bank">${t.bank} <b>${bankName(payment, uri)}</b></p>
${expiresAt && html`<p class="until">${t.until(toMoment(language, expiresAt, now))}<span class="left" role="timer" hidden> · ${t.left} <span data-left></span></span></p>`}
</div>
<div class="how">
<button type="button" hidden data-copied="${t.copied}" data-selected="${t.selected}"><span>${t.copy}</span>${icons.copy}</button>
<p class="next" hidden>${t.openBank}</p>
<div class="code"><h2>${t.copyCode}</h2><code id="code">${uri}</code></div>
<ol class="steps">${t.copySteps.map((step) => html`<li>${step}</li>`)}</ol>
${isSimulated && html`<form method="post"><button class="pay">${t.paySimulated}</button></form>`}
</div>
<div class="stub">
<h2>${t.scan}</h2>
<img src="${qrCodeDataUrl(uri)}" alt="${t.qr}" width="240" height="240">
<p class="quiet">${t.scanSteps} ${t.updates}</p>
</div>`
}

/** The receiver's name in the code, as the acquirer wrote it: the payer's bank shows it before they confirm. */
function bankName({ merchant_name }: PaymentRow, uri: string): string {
  const decoded = decodeBrCode(uri)
  return (decoded.ok && decoded.code.merchantName) || merchant_name
}

/** At most this many items are listed, so that the page stays small. The amount of the charge covers all of them. */
const itemsMax = 20

/** What is bought, if the merchant shows it: its description, otherwise the items. */
function renderContent({ description, items }: PaymentRow, language: Language): Html | null {
  const t = words[language]
  if (description !== null) return html`<p class="bought">${description}</p>`
  if (!items?.length) return null
  const more = items.length - itemsMax
  const write = ({ title, unitPrice, quantity }: (typeof items)[number]) =>
    html`<li><span>${quantity > 1 && html`${quantity} × `}${title}</span><span>${t.money(unitPrice * quantity)}</span></li>`
  return html`<ul class="items">${items.slice(0, itemsMax).map(write)}${more > 0 && html`<li>${t.more(more)}</li>`}</ul>`
}

/** The page that is shown instead of a payment. */
export function renderNotice(notice: Notice, language: Language): string {
  const { title, text } = words[language].notices[notice]
  return renderDocument({
    language,
    title,
    style,
    body: html`<article><div class="end">${icons.cross}<h1>${title}</h1><p class="quiet">${text}</p></div></article>`,
  })
}

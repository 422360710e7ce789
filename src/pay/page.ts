import { createHash } from 'node:crypto'
import { qrCodeDataUrl } from '../pix/qrcode.ts'
import { script } from './script.ts'
import { isOpen, pageState } from './state.ts'
import type { PaymentRow } from './store.ts'
import { style } from './style.ts'
import { type Language, type Notice, toMoment, words } from './text.ts'

/**
 * The page may load its one style, its one script and inline images, and call its own server. It must not be framed.
 */
export const policy = [
  "default-src 'none'",
  `style-src ${hashOf(style)}`,
  `script-src ${hashOf(script)}`,
  'img-src data:',
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ')

function hashOf(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`
}

/** A browser without scripts reloads the page this often, while something may change. */
const refreshSeconds = 10

type Shown = { payment: PaymentRow; language: Language; now: Date; isPretended: boolean }

export function renderPayment(shown: Shown): string {
  const { payment, language, now, isPretended } = shown
  const t = words[language]
  const state = pageState(payment, now)
  const seconds =
    payment.pix_expires_at === null ? 0 : Math.max(0, payment.pix_expires_at.getTime() - now.getTime()) / 1000
  const amount = t.money(payment.amount)
  return renderDocument({
    language,
    title: `${state === 'waiting' ? amount : t.titles[state]} · ${payment.merchant_name}`,
    refreshes: isOpen(payment),
    body: html`${isPretended && html`<p class="pretended">${t.pretended}</p>`}
<article data-state="${state}" data-seconds="${Math.floor(seconds)}"${isOpen(payment) && html` data-open`}>
${state === 'waiting' && payment.pix_uri !== null ? renderCode({ ...shown, uri: payment.pix_uri }) : renderEnd(payment, language, now)}
</article>
${payment.return_url !== null && html`<p class="leave"><a href="${payment.return_url}">${t.back}</a></p>`}`,
    script: isOpen(payment),
  })
}

function renderCode({ payment, uri, language, now, isPretended }: Shown & { uri: string }): Html {
  const t = words[language]
  const { pix_expires_at: expiresAt } = payment
  return html`<div class="what">
<h1>${t.titles.waiting}</h1>
<p class="amount">${t.money(payment.amount)}</p>
<p class="merchant">${t.to} <b>${payment.merchant_name}</b></p>
${expiresAt && html`<p class="until">${t.until(toMoment(language, expiresAt, now))}<span class="left" role="timer" hidden> · ${t.left} <span data-left></span></span></p>`}
</div>
<div class="how">
<button type="button" hidden data-copied="${t.copied}" data-selected="${t.selected}"><span>${t.copy}</span>${icons.copy}</button>
<div class="code"><h2>${t.copyCode}</h2><code id="code">${uri}</code></div>
<ol class="steps">${{ html: t.copySteps.map((step) => html`<li>${step}</li>`.html).join('') }}</ol>
${isPretended && html`<form method="post"><button class="pay">${t.payPretended}</button></form>`}
</div>
<div class="stub">
<h2>${t.scan}</h2>
<img src="${qrCodeDataUrl(uri)}" alt="${t.qr}" width="240" height="240">
<p class="quiet">${t.scanSteps} ${t.updates}</p>
</div>`
}

function renderEnd(payment: PaymentRow, language: Language, now: Date): Html {
  const t = words[language]
  const state = pageState(payment, now)
  const paidAt = payment.payment_date ?? payment.changed_at
  const says = {
    preparing: t.preparing,
    waiting: t.preparing,
    expired: t.expired(payment.merchant_name),
    canceled: t.canceled(payment.merchant_name),
    failed: t.failed(payment.merchant_name),
    paid: t.paidAt(t.dateTime(paidAt)),
    refunded: t.refundedAt(t.dateTime(payment.changed_at)),
  }
  const icon = {
    preparing: icons.clock,
    waiting: icons.clock,
    expired: icons.clock,
    canceled: icons.cross,
    failed: icons.cross,
    paid: icons.check,
    refunded: icons.back,
  }
  return html`<div class="end">
${icon[state]}
<h1>${t.titles[state]}</h1>
<p class="amount">${t.money(payment.amount)}</p>
<p class="merchant">${t.to} <b>${payment.merchant_name}</b></p>
<p class="quiet">${says[state]}</p>
${state === 'paid' && renderReturn(payment, language)}
</div>`
}

/** After the payment: back to the shop, which fetches the transaction. Its status counts, never this visit. */
function renderReturn({ id, merchant_name, return_url }: PaymentRow, language: Language): Html {
  const t = words[language]
  if (return_url === null) return html`<p class="quiet">${t.close}</p>`
  // Appended as text: parsing the address could change how its own parameters are written.
  const address = `${return_url}${return_url.includes('?') ? '&' : '?'}transactionId=${id}`
  return html`<a class="go" href="${address}">${t.goOn(merchant_name)}</a>`
}

/** The page that is shown instead of a payment. */
export function renderNotice(notice: Notice, language: Language): string {
  const { title, text } = words[language].notices[notice]
  return renderDocument({
    language,
    title,
    refreshes: false,
    body: html`<article><div class="end">${icons.cross}<h1>${title}</h1><p class="quiet">${text}</p></div></article>`,
    script: false,
  })
}

type Document = { language: Language; title: string; refreshes: boolean; body: Html; script: boolean }

function renderDocument(page: Document): string {
  return html`<!doctype html>
<html lang="${words[page.language].code}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex, nofollow">
<meta name="format-detection" content="telephone=no">
<title>${page.title}</title>
<link rel="icon" href="data:,">
<style>${verbatim(style)}</style>
${page.refreshes && html`<noscript><meta http-equiv="refresh" content="${refreshSeconds}"></noscript>`}
</head>
<body>
<main>
<p id="announced" class="unseen" role="status"></p>
${page.body}
</main>
${page.script && verbatim(`<script>${script}</script>`)}
</body>
</html>
`.html
}

const icon = (path: string, name: string) =>
  verbatim(
    `<svg class="${name}" viewBox="0 0 24 24" aria-hidden="true" width="22" height="22"><path d="${path}"/></svg>`,
  )

const icons = {
  copy: icon('M9 9h11v11H9zM4 15V4h11', 'copy'),
  check: icon('m4 12.500 5.500 5.500L20 6.500', 'sign'),
  clock: icon('M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18Zm0-14v5l3.500 2', 'sign'),
  cross: icon('M6 6l12 12M18 6 6 18', 'sign'),
  back: icon('M9 6 4 11l5 5M4 11h10a6 6 0 0 1 0 12h-2', 'sign'),
}

/** HTML that is safe to insert in a page. */
export type Html = { readonly html: string }

/** Inserted values are escaped as text, unless they are HTML already; null and false insert nothing. */
export function html(strings: TemplateStringsArray, ...values: (Html | string | number | null | false)[]): Html {
  const pieces = strings.map((text, index) => text + toPiece(values[index] ?? null))
  return { html: pieces.join('') }
}

/** Text of our own that is inserted unescaped, such as a style. */
export function verbatim(text: string): Html {
  return { html: text }
}

function toPiece(value: Html | string | number | null | false): string {
  if (value === null || value === false) return ''
  return typeof value === 'object'
    ? value.html
    : String(value).replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`)
}

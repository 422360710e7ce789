import type { Language } from '../lib/alert-settings.ts'
import { amountsOf } from '../links/state.ts'
import { cspHash, renderBackLink, renderDocument, renderLogo, stylePolicy } from './document.ts'
import { type Html, html, verbatim } from './html.ts'
import { type LinkNotice, linkWords } from './link-text.ts'
import type { PublicLinkRow } from './store.ts'
import { style } from './style.ts'
import { words } from './text.ts'

/** `path`: the last part of its address, in lower case. The logo is at `logo.png` below it. */
export type ShownLink = PublicLinkRow & { path: string }

const linkStyle = `${style}
.offer { padding: 28px 24px; }
.offer h1 { margin-top: 4px; font-size: 24px; color: var(--ink); overflow-wrap: anywhere; }
.offer .about { margin-top: 8px; white-space: pre-line; overflow-wrap: anywhere; }
.offer form { margin-top: 20px; display: grid; gap: 16px; }
label { display: grid; gap: 6px; font-weight: 600; font-size: 15px; }
label small { font-weight: 400; color: var(--quiet); }
input { width: 100%; min-height: 52px; padding: 10px 14px; border: 1px solid var(--quiet); border-radius: 12px; background: var(--paper); color: var(--ink); font: inherit; font-weight: 400; font-size: 17px; }
input:focus-visible { outline: 3px solid var(--accent); outline-offset: 1px; }
input[aria-invalid] { border-color: var(--warn); }
.error { font-weight: 500; color: var(--warn); font-size: 15px; }
`

const styleHash = cspHash(linkStyle)

/** The page has no script at all, no page may frame it, and its form goes only to its own server. */
export function linkContentSecurityPolicy(link: ShownLink): string {
  return [
    "default-src 'none'",
    stylePolicy(styleHash, link),
    "img-src data: 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; ')
}

/** What a customer has entered, as text. */
export type Entered = { amount: string; name: string; email: string; document: string }
export const nothingEntered: Entered = { amount: '', name: '', email: '', document: '' }
export type EnteredField = keyof Entered

type Shown = {
  link: ShownLink
  language: Language
  /** Sending the form again with the same key creates no second charge. */
  formKey: string
  entered: Entered
  errors: EnteredField[]
  /** The name that banks show; null if it is not certain before the charge is created. */
  bankName: string | null
  isSimulated: boolean
}

export function renderLink({ link, language, formKey, entered, errors, bankName, isSimulated }: Shown): string {
  const [t, common] = [linkWords[language], words[language]]
  const { min, max } = amountsOf(link)
  const range = min > 1 ? t.between(common.money(min), common.money(max)) : t.atMost(common.money(max))
  const field = (name: EnteredField, label: string, input: Html, hint: string | null = null) => {
    const isWrong = errors.includes(name)
    return html`<label>${label}${hint !== null && html` <small>${hint}</small>`}
<input name="${name}" id="${name}" value="${entered[name]}" required ${input}${isWrong && html` aria-invalid="true" aria-describedby="${name}-error"`}>
${isWrong && html`<span class="error" id="${name}-error">${t.errors[name]}</span>`}</label>`
  }
  return renderBranded(link, {
    language,
    title: `${link.title} · ${link.merchant_name}`,
    body: html`${isSimulated && html`<p class="simulated">${common.simulated}</p>`}
<article><div class="offer">
<p class="merchant quiet">${t.to} <b>${link.merchant_name}</b></p>
<h1>${link.title}</h1>
${link.amount !== null && html`<p class="amount">${common.money(link.amount)}</p>`}
${link.description !== null && html`<p class="about quiet">${link.description}</p>`}
${bankName !== null && html`<p class="bank">${common.bank} <b>${bankName}</b></p>`}
<form method="post">
<input type="hidden" name="request" value="${formKey}">
${link.amount === null && field('amount', `${t.amount} (R$)`, verbatim('inputmode="decimal" autocomplete="off" maxlength="14"'), range)}
${link.needs_customer && field('name', t.name, verbatim('autocomplete="name" maxlength="255"'))}
${link.needs_customer && field('email', t.email, verbatim('type="email" autocomplete="email" maxlength="254"'))}
${link.needs_customer && field('document', t.document, verbatim('autocapitalize="characters" autocomplete="off" maxlength="18"'))}
<button>${t.pay}</button>
</form>
</div></article>`,
  })
}

export function renderLinkNotice(notice: LinkNotice, link: ShownLink, language: Language): string {
  const { title, text } = linkWords[language].notices[notice]
  return renderBranded(link, {
    language,
    title: `${title} · ${link.merchant_name}`,
    body: html`<article><div class="end"><h1>${title}</h1><p class="merchant">${link.title}</p><p class="quiet">${text(link.merchant_name)}</p></div></article>`,
  })
}

type Content = { language: Language; title: string; body: Html }

function renderBranded(link: ShownLink, { language, title, body }: Content): string {
  return renderDocument({
    language,
    title,
    style: linkStyle,
    color: link.color,
    body: html`${renderLogo(link, link.path)}${body}
${renderBackLink(link.shop_url, language)}`,
  })
}

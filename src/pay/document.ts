import { createHash } from 'node:crypto'
import { toShades } from '../branding/colors.ts'
import type { Language } from '../lib/alert-settings.ts'
import { type Html, html, verbatim } from './html.ts'
import type { Brand } from './store.ts'
import { words } from './text.ts'

export function cspHash(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`
}

/** The merchant's color, in a light and a dark shade, replaces that of the page. */
function colorStyle(color: string): string {
  const { light, dark } = toShades(color)
  const write = ({ color, on }: typeof light) => `:root{--accent:${color};--on-accent:${on}}`
  return `${write(light)}@media (prefers-color-scheme:dark){${write(dark)}}`
}

/** What styles may be used: those of the page, and the merchant's colors. */
export function stylePolicy(styleHash: string, brand: Pick<Brand, 'color'> | null): string {
  return `style-src ${styleHash}${brand?.color ? ` ${cspHash(colorStyle(brand.color))}` : ''}`
}

/** `path`: the path of the page. The logo is at `logo.png` below it. */
export function renderLogo({ logo_version, merchant_name }: Brand, path: string): Html | null {
  return logo_version === null
    ? null
    : html`<img class="logo" src="${path}/logo.png?${logo_version}" alt="${merchant_name}">`
}

export function renderBackLink(shop: string | null, language: Language): Html | null {
  return shop === null ? null : html`<p class="back"><a href="${shop}" target="_top">${words[language].back}</a></p>`
}

type Document = {
  language: Language
  title: string
  style: string
  /** The merchant's color; null for the color of Guichê. */
  color?: string | null
  head?: Html | null
  /** The sites that may frame the page, separated by spaces: its script sends messages only to these. */
  origins?: string
  body: Html
  script?: string | null
}

/** A page for customers. */
export function renderDocument({ language, title, style, color, head, origins, body, script }: Document): string {
  return html`<!doctype html>
<html lang="${words[language].code}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex, nofollow">
<meta name="format-detection" content="telephone=no">
<title>${title}</title>
<link rel="icon" href="data:,">
<style>${verbatim(style)}</style>
${color ? verbatim(`<style>${colorStyle(color)}</style>`) : null}
${head ?? null}
</head>
<body>
<main${origins ? html` data-origins="${origins}"` : null}>
<p id="announced" class="unseen" role="status"></p>
${body}
</main>
${script ? verbatim(`<script>${script}</script>`) : null}
</body>
</html>
`.html
}

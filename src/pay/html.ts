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

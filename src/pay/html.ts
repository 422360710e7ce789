/** A piece of HTML that is safe to stand in a page. */
export type Html = { readonly html: string }

/** What is put in is text and is escaped, unless it is HTML already; null and false leave nothing. */
export function html(strings: TemplateStringsArray, ...values: (Html | string | number | null | false)[]): Html {
  const pieces = strings.map((text, index) => text + toPiece(values[index] ?? null))
  return { html: pieces.join('') }
}

/** Text of ours that is to stand as it is, such as a style. */
export function verbatim(text: string): Html {
  return { html: text }
}

function toPiece(value: Html | string | number | null | false): string {
  if (value === null || value === false) return ''
  return typeof value === 'object'
    ? value.html
    : String(value).replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`)
}

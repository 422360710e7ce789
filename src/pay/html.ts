/** HTML that is safe to insert in a page. */
export type Html = { readonly html: string }

type Value = Html | (Html | false)[] | string | number | null | false

/** Inserted values are escaped as text, unless they are HTML already; null and false insert nothing. */
export function html(strings: TemplateStringsArray, ...values: Value[]): Html {
  const pieces = strings.map((text, index) => text + toPiece(values[index] ?? null))
  return { html: pieces.join('') }
}

/** Text of our own that is inserted unescaped, such as a style. */
export function verbatim(text: string): Html {
  return { html: text }
}

function toPiece(value: Value): string {
  if (value === null || value === false) return ''
  if (Array.isArray(value)) return value.map(toPiece).join('')
  return typeof value === 'object'
    ? value.html
    : String(value).replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`)
}

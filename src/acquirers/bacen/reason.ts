import { anyText, isRecord, type Json, text } from './read.ts'

const reasonLengthMax = 300

/**
 * One line from a refusal in any known shape: the standard's problem with its `violacoes`, Efí's `{ nome, mensagem }`,
 * Banco do Brasil's `{ erros: [ … ] }` and `{ statusCode, error, message }`, another system's error as JSON within a
 * text (Itaú), `{ error, error_description }` of OAuth and Keycloak, Sicoob's `{ mensagens: [ … ] }`.
 */
export function toReason(status: number, body: Json): string {
  const printable = linesOf(body)
    .join(' ')
    .replace(/[\p{Cc}\p{Cs}]+/gu, ' ')
    .trim()
  return printable === '' ? `The acquirer answered ${status}` : Array.from(printable).slice(0, reasonLengthMax).join('')
}

function linesOf(body: Json): string[] {
  const message = messageFields.map((name) => anyText(body, name)).find((one) => one !== null)
  const errors = errorLists.flatMap((name) => asList(body[name])).filter(isRecord)
  const reasons = errors.map(
    (error) => anyText(error, 'razao') ?? anyText(error, 'mensagem') ?? anyText(error, 'message'),
  )
  return [...new Set([message, ...reasons].flatMap((line) => (line ? unwrap(line) : [])))]
}

// The most informative first: only the first that is present counts.
const messageFields = [
  ...['detail', 'mensagem', 'message', 'errorMessage', 'error_description', '_message', 'title', 'nome', 'error'],
] as const
const errorLists = ['violacoes', 'erros', 'mensagens', 'errors', '_details']

/** The lines of another system's answer that a text contains as JSON; else the text itself. */
function unwrap(line: string): string[] {
  const [start, end] = [line.indexOf('{'), line.lastIndexOf('}')]
  if (start < 0 || end < start) return [line]
  try {
    const inner: unknown = JSON.parse(line.slice(start, end + 1))
    const lines = isRecord(inner) ? linesOf(inner) : []
    return lines.length > 0 ? lines : [line]
  } catch {
    return [line]
  }
}

function asList(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}

/** The text of an HTML page, in short: a proxy that requires a certificate answers in HTML. */
export function toPlainText(page: string): string {
  const words = page
    .slice(0, 4096)
    .replace(/<(style|script|title)[\s\S]*?<\/\1>|<[^>]*>/gi, ' ')
    .replace(/[\s\p{Cc}\p{Cs}]+/gu, ' ')
  return Array.from(words.trim()).slice(0, 120).join('')
}

/**
 * A 404 of a proxy before the PSP's API, or of the server's framework: the path does not exist. It says nothing about
 * what was requested.
 */
export function isMissingRoute(body: Json): boolean {
  if (isProblem(body)) return false
  const isSpring = text(body, 'path') !== null && body.timestamp !== undefined
  return (
    isSpring ||
    isFrameworkNotFound(body) ||
    /no route matched|no matching route|cannot (?:get|patch|post|put) \//i.test(text(body, 'message') ?? '')
  )
}

const problemFields = ['type', 'title', 'detail', 'nome', 'violacoes', 'erros', 'mensagem', 'mensagens']

/** An error in one of the shapes of the PSPs' APIs: not written by a proxy on the way. */
export function isProblem(body: Json): boolean {
  return !isFrameworkNotFound(body) && problemFields.some((name) => body[name] !== undefined)
}

/** The RFC 9457 body with which a web framework answers a path that it does not know. */
function isFrameworkNotFound(body: Json): boolean {
  return text(body, 'type') === 'about:blank' && text(body, 'title') === 'Not Found'
}

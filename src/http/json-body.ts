import { AppError } from '../lib/errors.ts'

/** The path of a value in a body: field names and array indexes, from the outside in. */
export type Path = (string | number)[]

/** What JSON.parse hides: fields that appear twice in one object, and numbers that it may have changed. */
export type JsonNotes = { duplicates: Path[]; numbers: { path: Path; text: string }[] }

type Inspection = JsonNotes & { error: { at: number; reason: string } | null }

/** Keyed by the parsed value. The validator, which knows what each number is for, looks the notes up here. */
const notesOf = new WeakMap<object, JsonNotes>()

export function findJsonNotes(body: unknown): JsonNotes | null {
  return (typeof body === 'object' && body !== null && notesOf.get(body)) || null
}

/**
 * Values in one body: all fields, and all entries of its lists. An empty object or list counts once more. A valid
 * request has fewer (metadata of 8 KiB, 100 items of 4 fields). 64 KiB can hold 20,000 empty items, which would take
 * 5 ms to parse, check and refuse one by one.
 */
const valuesMax = 5_000

/**
 * Parses a body and stores the notes for {@link findJsonNotes}. A quick pass recognizes bodies without notes, which are
 * nearly all.
 * @throws {AppError} `malformed_json` with the line and column, `body_too_large` if there are too many values
 */
export function parseJsonBody(body: string): unknown {
  // RFC 8259 lets readers ignore a byte order mark.
  const text = body.startsWith('\ufeff') ? body.slice(1) : body
  const { names, values } = survey(text)
  if (values > valuesMax)
    throw new AppError('body_too_large', {
      detail: `The body may have ${valuesMax} values at most, counting every field and every entry of a list.`,
    })
  const value = parseJson(text)
  if (typeof value !== 'object' || value === null || names === countMembers(value, 0)) return value
  const { duplicates, numbers } = inspectJson(text)
  if (duplicates.length > 0 || numbers.length > 0) notesOf.set(value, { duplicates, numbers })
  return value
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new AppError('malformed_json', { detail: describeMalformed(text), cause })
  }
}

function describeMalformed(text: string): string {
  if (text === '') return 'The body is empty. Send a JSON object.'
  const { error } = inspectJson(text)
  if (!error) return 'The body cannot be parsed as JSON.'
  const before = text.slice(0, error.at)
  const line = before.split('\n').length
  const column = error.at - before.lastIndexOf('\n')
  return `The body is not valid JSON at line ${line}, column ${column}: ${error.reason}.`
}

const [quote, backslash, colon, minus, zero, nine, dot, letterE] = [0x22, 0x5c, 0x3a, 0x2d, 0x30, 0x39, 0x2e, 0x65]
const [comma, bracket, brace] = [0x2c, 0x5b, 0x7b]
/** An integer of up to this many digits is exact as a double. */
const safeDigitsMax = 15

/**
 * Counts the values and the field names of a JSON text, before it is parsed. `names` is -1 if one of the numbers is not
 * a short integer. For a text that is not JSON, both counts are meaningless.
 */
function survey(text: string): { names: number; values: number } {
  let names = 0
  let values = 0
  let isPlain = true
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charCodeAt(at)
    if (character === quote) {
      at = findEndOfText(text, at)
      if (at === -1) break
    } else if (character === colon) names += 1
    else if (character === comma || character === brace || character === bracket) values += 1
    else if (character === minus || (character >= zero && character <= nine)) {
      const start = at
      let next = text.charCodeAt(at + 1)
      while (next >= zero && next <= nine) {
        at += 1
        next = text.charCodeAt(at + 1)
      }
      if (at - start >= safeDigitsMax || next === dot || (next | 0x20) === letterE) isPlain = false
    }
  }
  return { names: isPlain ? names : -1, values }
}

/** The position of the quote that ends the text which starts at `start`, or -1. */
function findEndOfText(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let escapes = 0
    while (text.charCodeAt(end - 1 - escapes) === backslash) escapes += 1
    if (escapes % 2 === 0) return end
  }
  return -1
}

/** Accepted requests are never nested more deeply (http/validate.ts). */
const depthMax = 32

/** The number of fields in all objects of a value, or -2 if it is nested too deeply and will be refused anyway. */
function countMembers(value: object, depth: number): number {
  if (depth === depthMax) return -2
  let members = 0
  const count = (inner: unknown): boolean => {
    if (typeof inner !== 'object' || inner === null) return true
    const innerMembers = countMembers(inner, depth + 1)
    members += innerMembers
    return innerMembers !== -2
  }
  // Iterates the values, not the keys: the keys of 20,000 array items would all become strings.
  if (Array.isArray(value)) return value.every(count) ? members : -2
  const values: Record<string, unknown> = value as Record<string, unknown>
  for (const name in values) {
    members += 1
    if (!count(values[name])) return -2
  }
  return members
}

/** As many as the validator reports of its own errors (http/validate.ts). Further notes are dropped. */
const notesMax = 500

const space = /[ \t\n\r]*/y
const string = /"[^"\\]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\]*)*"/y
const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const literal = /true|false|null/y
const plainNumber = /^-?\d{1,15}$/

type Frame = { names: Set<string> | null; key: string | number }

/**
 * Reads a text by the JSON grammar (RFC 8259), without recursion: a text of 64 KiB can be nested 30,000 levels deep.
 * States: VALUE and NAME expect one; FIRST_VALUE and FIRST_NAME also accept the end of an empty array or object; AFTER
 * expects a comma or an end.
 */
export function inspectJson(text: string): Inspection {
  const notes: JsonNotes = { duplicates: [], numbers: [] }
  const frames: Frame[] = []
  let at = 0
  let state: 'VALUE' | 'FIRST_VALUE' | 'NAME' | 'FIRST_NAME' | 'AFTER' = 'VALUE'
  const fail = (reason: string) => ({
    ...notes,
    error: { at, reason: at >= text.length ? 'it ends too early' : reason },
  })
  const take = (pattern: RegExp): string | null => {
    pattern.lastIndex = at
    const found = pattern.exec(text)?.[0] ?? null
    at += found?.length ?? 0
    return found
  }
  const takeString = () => {
    const start = at
    const found = take(string)
    // JSON requires control characters to be escaped.
    if (found !== null && ![...found].some((character) => character < ' ')) return found
    at = start
    return null
  }
  const note = (list: { length: number }, add: (path: Path) => void) => {
    if (list.length < notesMax && frames.length <= depthMax) add(frames.map(({ key }) => key))
  }
  for (;;) {
    take(space)
    const frame = frames.at(-1)
    const character = text[at]
    if (state === 'AFTER') {
      if (!frame) return at === text.length ? { ...notes, error: null } : fail('there is more after its end')
      const end = frame.names ? '}' : ']'
      if (character !== ',' && character !== end) return fail(`"," or "${end}" is expected`)
      at += 1
      if (character === end) frames.pop()
      else state = frame.names ? 'NAME' : 'VALUE'
      if (character === ',' && typeof frame.key === 'number') frame.key += 1
    } else if (state === 'FIRST_NAME' && character === '}') {
      at += 1
      frames.pop()
      state = 'AFTER'
    } else if (frame?.names && (state === 'NAME' || state === 'FIRST_NAME')) {
      const token = takeString()
      if (token === null)
        return fail(
          character === '}' ? 'there is a comma before "}"' : 'the name of a field is expected, in double quotes',
        )
      const name: string = JSON.parse(token)
      frame.key = name
      if (frame.names.has(name)) note(notes.duplicates, (path) => notes.duplicates.push(path))
      frame.names.add(name)
      take(space)
      if (text[at] !== ':') return fail('":" is expected after the name of a field')
      at += 1
      state = 'VALUE'
    } else if (state === 'FIRST_VALUE' && character === ']') {
      at += 1
      frames.pop()
      state = 'AFTER'
    } else if (character === '{' || character === '[') {
      at += 1
      frames.push(character === '{' ? { names: new Set(), key: '' } : { names: null, key: 0 })
      state = character === '{' ? 'FIRST_NAME' : 'FIRST_VALUE'
    } else {
      if (character === '"') {
        if (takeString() === null) return fail('this text is not closed, or holds a line break or an unknown escape')
      } else if (take(literal) === null) {
        const digits = take(number)
        if (digits === null) return fail(describeNoValue(character))
        if (!plainNumber.test(digits)) note(notes.numbers, (path) => notes.numbers.push({ path, text: digits }))
      }
      state = 'AFTER'
    }
  }
}

function describeNoValue(character: string | undefined): string {
  if (character === "'") return 'a text needs double quotes'
  if (character === ']' || character === '}') return `there is a comma or a colon before "${character}", and no value`
  return 'a value is expected: a text in double quotes, a number, true, false, null, a list or an object'
}

/** True if parsing changes the number: a double holds some 15 digits. */
export function isChangedByParsing(text: string): boolean {
  return toDigits(text) !== toDigits(String(Number(text)))
}

/** The significant digits and the power of ten, equal for `1200`, `1.2e3` and `1.20E+3`. */
function toDigits(text: string): string {
  const [, whole = '', decimals = '', exponent = '0'] = /^-?(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(text) ?? []
  const digits = `${whole}${decimals}`.replace(/^0+/, '')
  const significant = digits.replace(/0+$/, '')
  if (significant === '') return '0'
  return `${significant}e${Number(exponent) - decimals.length + (digits.length - significant.length)}`
}

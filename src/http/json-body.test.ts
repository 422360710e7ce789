import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { AppError } from '../lib/errors.ts'
import { findJsonNotes, inspectJson, isChangedByParsing, parseJsonBody } from './json-body.ts'

const notesOf = (text: string) => findJsonNotes(parseJsonBody(text)) ?? { duplicates: [], numbers: [] }
const detailOf = (text: string) => {
  try {
    parseJsonBody(text)
  } catch (error) {
    return error instanceof AppError ? error.details.detail : error
  }
  return 'no error'
}

describe('a JSON body', () => {
  it('is parsed exactly as JSON.parse does, valid or not', () => {
    // JSON, and JSON with some characters removed, doubled or replaced.
    const texts = fc
      .tuple(fc.json(), fc.nat(), fc.constantFrom('', ' ', '"', '{', '}', ',', ':', '0', '-', 'e1', '\\', 'é', '\n'))
      .map(
        ([json, at, text]) =>
          json.slice(0, at % (json.length + 1)) + text + json.slice((at % (json.length + 1)) + (at % 2)),
      )
    const parses = (text: string) => {
      try {
        return JSON.stringify(JSON.parse(text))
      } catch {
        return null
      }
    }
    fc.assert(
      fc.property(fc.oneof(fc.json(), texts), (text) => {
        const parsed = parses(text)
        expect(inspectJson(text).error === null, text).toBe(parsed !== null)
        if (parsed !== null) expect(JSON.stringify(parseJsonBody(text))).toBe(parsed)
      }),
      { numRuns: 2_000 },
    )
  })

  it('reports a field that appears twice, at any depth and however the name is escaped', () => {
    expect(notesOf('{"a":1,"b":{"a":1},"c":[{"a":1},{"a":1}]}').duplicates).toEqual([])
    expect(notesOf('{"a":1,"a":1}').duplicates).toEqual([['a']])
    expect(notesOf('{"a":1,"\\u0061":1}').duplicates).toEqual([['a']])
    expect(notesOf('[{"x":[0,{"b":":{","b":2}]}]').duplicates).toEqual([[0, 'x', 1, 'b']])
    expect(notesOf('{"__proto__":1,"__proto__":2,"":1,"":2}').duplicates).toEqual([['__proto__'], ['']])
    expect(notesOf('{"a\\\\":1,"a\\\\\\"":1,"a":"\\\\\\\\"}').duplicates).toEqual([])
  })

  it('is checked in the same way after a byte order mark', () => {
    expect(notesOf('\ufeff{"a":1,"a":1.0}')).toEqual(notesOf('{"a":1,"a":1.0}'))
    expect(detailOf('\ufeff{a: 1}')).toBe(detailOf('{a: 1}'))
    expect(detailOf('\ufeff')).toBe(detailOf(''))
  })

  it('notes numbers other than short integers, and none inside a text', () => {
    expect(notesOf('{"a":"1.0","b":[1,-2,123456789012345,true,false,null]}').numbers).toEqual([])
    const text = '{"a":1.0,"b":[1e2,1E2,-0.5],"c":1234567890123456}'
    expect(notesOf(text).numbers.map((one) => `${one.path.join('.')} ${one.text}`)).toEqual([
      'a 1.0',
      'b.0 1e2',
      'b.1 1E2',
      'b.2 -0.5',
      'c 1234567890123456',
    ])
  })

  it('is refused before it is parsed if it has more values than any valid request', () => {
    const many = (entry: string, count: number) => `{"items":[${Array(count).fill(entry).join()}]}`
    const refusal = 'The body may have 5000 values at most, counting every field and every entry of a list.'
    // Counted besides the entries: the field `items`.
    expect(detailOf(many('1', 4_999))).toBe('no error')
    for (const text of [
      many('1', 5_000),
      many('{}', 2_500),
      many('1.5', 5_000),
      '['.repeat(5_001),
      '{"a":'.repeat(5_001),
    ])
      expect(detailOf(text), text.slice(0, 20)).toBe(refusal)
    // A text may hold as many commas and brackets as it likes, also after an escaped quote.
    expect(detailOf(`["\\"${'[,'.repeat(6_000)}"]`)).toBe('no error')
    expect(detailOf(`["${'[,'.repeat(6_000)}`)).toContain('not valid JSON')
  })

  it('detects whether parsing changes a number', () => {
    for (const text of [
      '0',
      '-0',
      '1e21',
      '1.50',
      '9007199254740992',
      '1E-7',
      '0.1',
      '12345678901234500000000',
      '-1.0',
    ])
      expect(isChangedByParsing(text), text).toBe(false)
    for (const text of [
      '9007199254740993',
      '12345678901234567890',
      '0.12345678901234567890',
      '1e-400',
      '-9007199254740993.0',
    ])
      expect(isChangedByParsing(text), text).toBe(true)
  })

  it.each([
    ['{a: 1}', 'line 1, column 2: the name of a field is expected, in double quotes'],
    ["{'a': 1}", 'line 1, column 2: the name of a field is expected, in double quotes'],
    ['{\n  "a": 1,\n}', 'line 3, column 1: there is a comma before "}"'],
    ['{"a" 1}', 'line 1, column 6: ":" is expected after the name of a field'],
    ['{"a": \'b\'}', 'line 1, column 7: a text needs double quotes'],
    ['{"a": 25,90}', 'line 1, column 10: the name of a field is expected, in double quotes'],
    ['{"a": 0x10}', 'line 1, column 8: "," or "}" is expected'],
    ['{"a": [1,]}', 'line 1, column 10: there is a comma or a colon before "]", and no value'],
    ['{"a": 1', 'line 1, column 8: it ends too early'],
    ['{} {}', 'line 1, column 4: there is more after its end'],
    ['{"a": "x\ny"}', 'line 1, column 7: this text is not closed, or holds a line break or an unknown escape'],
  ])('reports where it is malformed: %s', (text, expected) => {
    expect(detailOf(text)).toBe(`The body is not valid JSON at ${expected}.`)
  })

  it('is inspected at any depth and length', () => {
    expect(inspectJson(`${'['.repeat(30_000)}${']'.repeat(30_000)}`).error).toBeNull()
    expect(inspectJson(`${'{"a":'.repeat(12_000)}1${'}'.repeat(12_000)}`).error).toBeNull()
    expect(inspectJson(`"${'\\n'.repeat(30_000)}"`).error).toBeNull()
  })
})

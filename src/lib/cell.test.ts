import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { rowsUnder } from '../../test/support/documents.ts'
import { fromTxid, toTxid } from '../pix/ids.ts'
import { cellOfId, isCellName, isOfOtherCell, newIdIn, parseCells, prefixesOf } from './cell.ts'
import { newUuid } from './secrets.ts'

const names = ['a', 'z', '0', '9', 'ab', 'a0', 'br1', 'abcd', '0000', 'zzzz', '9z9z', 'a9']
const version4 = /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/

describe('an id', () => {
  it.each(names)('carries the cell %s, and is still a UUID v4', (cell) => {
    for (const from of [undefined, Buffer.alloc(32), Buffer.alloc(32, 255)]) {
      const id = newIdIn(cell, from)
      expect(id).toMatch(version4)
      expect(cellOfId(id)).toBe(cell)
      expect(id.startsWith(prefixesOf(cell).id)).toBe(true)
      expect(cellOfId(fromTxid(toTxid(id).toUpperCase()) ?? '')).toBe(cell)
    }
  })

  it('is another one each time, and the same for the same hash', () => {
    expect(new Set(Array.from({ length: 1000 }, () => newIdIn('a'))).size).toBe(1000)
    const hash = createHash('sha256').update('x').digest()
    expect(newIdIn('a', hash)).toBe(newIdIn('a', hash))
    expect(newIdIn('a', hash)).not.toBe(newIdIn('b', hash))
    expect(newIdIn(null, hash)).toBe(newUuid(hash))
  })

  it('carries no cell if it differs at all from the form of such an id', () => {
    const id = newIdIn('a', Buffer.alloc(32))
    for (const other of [
      id.toUpperCase(),
      `${id} `,
      id.replace('ce-', 'cf-'),
      id.replace('-4ce1-', '-4ce0-'),
      id.replace('-4ce1-', '-5ce1-'),
      // `____`, `A___`, `a_b_` and `a-__` are no names.
      `ffffff${id.slice(6)}`,
      ...['A___', 'a_b_', 'a-__', '_a__'].map((text) => Buffer.from(text, 'base64url').toString('hex') + id.slice(6)),
      '',
    ])
      expect(cellOfId(other), other).toBeNull()
    // From hashes: one of 10 million random UUIDs looks like an id of a cell.
    const hashOf = (index: number) => createHash('sha256').update(`${index}`).digest()
    const cells = Array.from({ length: 10_000 }, (_, index) => cellOfId(newUuid(hashOf(index))))
    expect(cells.filter((cell) => cell !== null)).toEqual([])
  })

  it('is of another cell only if it carries one, and only where the installation is a cell', () => {
    expect(isOfOtherCell('a', newIdIn('b'))).toBe(true)
    expect(isOfOtherCell('a', newIdIn('ab'))).toBe(true)
    expect(isOfOtherCell('a', newIdIn('a'))).toBe(false)
    expect(isOfOtherCell('a', newUuid())).toBe(false)
    expect(isOfOtherCell('a', null)).toBe(false)
    expect(isOfOtherCell(null, newIdIn('b'))).toBe(false)
  })
})

it('a name is 1 to 4 lowercase letters and digits', () => {
  expect(names.filter((name) => !isCellName(name))).toEqual([])
  expect(['', 'A', 'abcde', 'a_', 'a-b', 'ã', 'a ', 'a\n'].filter(isCellName)).toEqual([])
})

it('each cell has one address', () => {
  expect(parseCells('a=http://x/, b=https://y:1/z')).toEqual([
    { cell: 'a', address: 'http://x' },
    { cell: 'b', address: 'https://y:1/z' },
  ])
  expect(parseCells('')).toEqual([])
  for (const text of [
    ...['a', 'a=b.example.com', 'A=https://a.example.com', 'a=https://x?y', 'a=http://x,a=http://y'],
    // Without a comma, the second cell would be a part of the first one's address.
    ...['a=http://x b=http://y', 'a=http://x/ b=http://y', 'a=http://x:99999'],
  ])
    expect(parseCells(text), text).toBeNull()
})

it('the beginnings of the cell a are those of docs/scaling.md', () => {
  const written = rowsUnder('docs/scaling.md', 'Cells').map(([, , begins = '']) => begins.replaceAll('`', ''))
  expect(written).toEqual(Object.values(prefixesOf('a')))
})

it('what one cell gives out never begins like what another gives out', () => {
  for (const name of Object.keys(prefixesOf('a')) as (keyof ReturnType<typeof prefixesOf>)[]) {
    const prefixes = names.map((cell) => prefixesOf(cell)[name])
    for (const [index, one] of prefixes.entries())
      expect(prefixes.filter((other, at) => at !== index && other.startsWith(one))).toEqual([])
  }
  // Whatever follows the name in the id of the key.
  for (const cell of names)
    for (const rest of ['x', '0', '-', '_'])
      expect(Buffer.from(`{"kid":"${cell}.${rest}`).toString('base64url')).toContain(prefixesOf(cell).accessToken)
})

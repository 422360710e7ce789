import { buffer } from 'node:stream/consumers'
import { expect, it } from 'vitest'
import { zip } from './zip.ts'

const mtime = new Date('2026-11-21T15:00:00.000Z')

async function* fail(before: string[]): AsyncGenerator<string> {
  yield* before
  throw new Error('the database is gone')
}

it.each([
  ['at once', []],
  ['in the middle', ['a,b\r\n', 'x'.repeat(1_000_000)]],
])(
  'ends with the error of a file that cannot be read: %s',
  async (_, before) => {
    const archive = zip([{ name: 'a.csv', pieces: fail(before) }], mtime)
    await expect(buffer(archive)).rejects.toThrow('the database is gone')
  },
  10_000,
)

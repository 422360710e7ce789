import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { modelTest } from './mutation.ts'
import { mutations } from './mutations.ts'

/** Members that a replacement may use although its file does not. */
const builtIn = new Set([
  'randomUUID',
  ...[Array, Promise].flatMap(({ prototype }) => Object.getOwnPropertyNames(prototype)),
])

// Running the mutations (`npm run mutations`) takes an hour. Checking that each applies to the code takes seconds.
it.each(mutations)('each mutation applies to the code: $name', async ({ edits, caughtBy = modelTest }) => {
  for (const { file, from, to } of edits) {
    const source = await readFile(file, 'utf8')
    expect(source.split(from), `${file} has "${from}" once`).toHaveLength(2)
    const members = [...to.matchAll(/\.([a-z]\w*)/gi)].map(([, name = '']) => name)
    const unknown = members.filter((name) => !builtIn.has(name) && !new RegExp(`\\b${name}\\b`).test(source))
    expect(unknown, `${file} names what the replacement reads`).toEqual([])
  }
  await readFile(caughtBy)
  expect(caughtBy, '`npm test` leaves out these folders').not.toMatch(/^test\/(browser|crash|system)\//)
})

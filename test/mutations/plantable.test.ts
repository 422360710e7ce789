import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { modelTest } from './mutation.ts'
import { mutations } from './mutations.ts'

// Running the mutations (`npm run mutations`) takes an hour. Checking that each applies to the code takes seconds.
it.each(mutations)('each mutation applies to the code: $name', async ({ edits, caughtBy = modelTest }) => {
  for (const { file, from } of edits) {
    const source = await readFile(file, 'utf8')
    expect(source.split(from), `${file} has "${from}" once`).toHaveLength(2)
  }
  await readFile(caughtBy)
  expect(caughtBy, '`npm test` leaves out these folders').not.toMatch(/^test\/(browser|crash|system)\//)
})

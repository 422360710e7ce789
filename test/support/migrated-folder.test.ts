import { mkdirSync, writeFileSync } from 'node:fs'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { makeFolder } from './https-psp.ts'
import { makeOnce } from './migrated-folder.ts'

let files: Awaited<ReturnType<typeof makeFolder>>

beforeAll(async () => {
  files = await makeFolder()
})
afterAll(async () => await files.remove())

it('makes a folder once, however many need it at once', async () => {
  let made = 0
  const make = async (unfinished: string) => await writeFile(`${unfinished}/made`, String(++made))
  await Promise.all([1, 2, 3].map(async () => await makeOnce(files.path('folder'), make)))
  expect(made).toBe(1)
  expect(await readdir(files.folder)).toEqual(['folder'])
})

it('uses a folder that another process finishes just before this one begins to make it', async () => {
  const folder = files.path('other')
  const used = makeOnce(folder, async (unfinished) => await writeFile(`${unfinished}/made`, 'here'))
  mkdirSync(folder)
  writeFileSync(`${folder}/made`, 'there')
  await used
  expect(await readFile(`${folder}/made`, 'utf8')).toBe('there')
  expect(await readdir(files.folder)).toEqual(['folder', 'other'])
})

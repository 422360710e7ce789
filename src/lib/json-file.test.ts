import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { readJsonFile } from './json-file.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'json-file-'))
  await writeFile(join(folder, 'damaged.json'), '{')
})
afterAll(async () => await rm(folder, { recursive: true }))

const read = async (path: string) => await readJsonFile(path, 'Delete it.')

it('is null for a file that does not exist, or whose folder is a file', async () => {
  expect(await read(join(folder, 'absent.json'))).toBeNull()
  expect(await read(join(folder, 'damaged.json/absent.json'))).toBeNull()
})

it('names a file that cannot be read or is damaged, and says what to do', async () => {
  await expect(read(folder)).rejects.toMatchObject({
    message: `${folder} cannot be read (EISDIR): check that it is a file that this user may read. Delete it.`,
    code: 'EISDIR',
  })
  await expect(read(join(folder, 'damaged.json'))).rejects.toThrow(/damaged\.json is damaged: .*Delete it\.$/)
})

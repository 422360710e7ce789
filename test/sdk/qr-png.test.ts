import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { publint } from 'publint'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { compileInShop, type PackedSdk, packSdk, readSamples } from '../support/packed-sdk.ts'

let qrPng: PackedSdk

beforeAll(async () => {
  qrPng = await packSdk('qr-png')
})
afterAll(async () => await qrPng.remove())

it('the package has the program, its types, a README and the license, and passes publint', async () => {
  const others = qrPng.files.filter((file) => !/^dist\/[a-z-]+\.(?:js|d\.ts)$/.test(file))
  expect(others).toEqual(['LICENSE', 'README.md', 'package.json'])
  expect(qrPng.files).toEqual(expect.arrayContaining(['dist/index.js', 'dist/index.d.ts']))
  expect((await publint({ pkgDir: qrPng.folder, strict: true })).messages).toEqual([])
})

it('the program of its README compiles and prints what the README says', async () => {
  const [sample = ''] = await readSamples('qr-png/README.md')
  await writeFile(join(qrPng.shop, 'sample.ts'), sample)
  await compileInShop(qrPng.shop, ['sample.ts'])
  const { stdout } = await promisify(execFile)(process.execPath, ['sample.js'], { cwd: qrPng.shop })
  const [, printed = ''] = /\/\/ (.*)…/.exec(sample) ?? []
  expect([printed.length > 20, stdout.startsWith(printed)]).toEqual([true, true])
})

import { exec, execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { userAgent } from '../../sdk/src/http.ts'

it('the TypeScript types are those of docs/openapi.json: `npm run sdk:types` writes them', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ['tools/document/sdk-types.mjs'])
  expect(readFileSync('sdk/src/openapi.ts', 'utf8')).toBe(stdout)
})

it('the TypeScript types stay as they are when what writes them is not installed', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'guiche-types-'))
  try {
    await cp('tools/document/sdk-types.mjs', join(folder, 'tools/document/sdk-types.mjs'))
    await cp('sdk/src/openapi.ts', join(folder, 'sdk/src/openapi.ts'))
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> }
    const step = scripts['sdk:types']?.split(' && ').find((one) => one.includes('sdk-types.mjs')) ?? ''
    await expect(promisify(exec)(step, { cwd: folder })).rejects.toThrow('openapi-typescript')
    expect(readFileSync(join(folder, 'sdk/src/openapi.ts'), 'utf8')).toBe(readFileSync('sdk/src/openapi.ts', 'utf8'))
  } finally {
    await rm(folder, { recursive: true })
  }
})

it('the TypeScript SDK sends its version to the service', () => {
  expect(userAgent).toBe(`guiche-sdk/${JSON.parse(readFileSync('sdk/package.json', 'utf8')).version}`)
})

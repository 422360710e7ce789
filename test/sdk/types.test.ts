import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { userAgent } from '../../sdk/src/http.ts'

it('are those of docs/openapi.json: `npm run sdk:types` writes them', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ['tools/document/sdk-types.mjs'])
  expect(readFileSync('sdk/src/openapi.ts', 'utf8')).toBe(stdout)
})

it('belong to the version that the SDK sends to the service', () => {
  expect(userAgent).toBe(`guiche-sdk/${JSON.parse(readFileSync('sdk/package.json', 'utf8')).version}`)
})

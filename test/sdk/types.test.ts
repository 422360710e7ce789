import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { writeSdkTypes } from '../../scripts/sdk-types.ts'
import { userAgent } from '../../sdk/src/http.ts'

const document = JSON.parse(readFileSync('docs/openapi.json', 'utf8'))

it('are those of docs/openapi.json: `npm run sdk:types` writes them', () => {
  expect(writeSdkTypes(document)).toBe(readFileSync('sdk/src/types.ts', 'utf8'))
})

it('are not written when a keyword is unknown', () => {
  const changed = structuredClone(document)
  changed.components.schemas.Problem.properties.code = { anyOf: [{ type: 'string' }, { type: 'null' }] }
  expect(() => writeSdkTypes(changed)).toThrow('What does anyOf mean')
  delete changed.paths['/balance']
  expect(() => writeSdkTypes(changed)).toThrow('docs/openapi.json has no GET /balance')
})

it('belong to the version that the SDK sends to the service', () => {
  expect(userAgent).toBe(`guiche-sdk/${JSON.parse(readFileSync('sdk/package.json', 'utf8')).version}`)
})

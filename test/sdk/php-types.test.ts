import { readdirSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { writePhpTypes } from '../../scripts/sdk-php-types.ts'

const document = JSON.parse(readFileSync('docs/openapi.json', 'utf8'))
const folder = 'sdk-php/src/Types'

it('the PHP types are those of docs/openapi.json: `npm run sdk:types` writes them', () => {
  const written = readdirSync(folder).map((name) => [name, readFileSync(`${folder}/${name}`, 'utf8')])
  expect(Object.fromEntries(written)).toEqual(writePhpTypes(document))
})

it('writePhpTypes throws when the document lacks a route that the types are taken from', () => {
  const { '/balance': _, ...paths } = document.paths
  expect(() => writePhpTypes({ ...document, paths })).toThrow('docs/openapi.json has no GET /balance')
})

it('the PHP SDK and its composer.json have the version of the service', () => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
  expect(readFileSync('sdk-php/src/Guiche.php', 'utf8')).toContain(`const VERSION = '${version}';`)
  expect(JSON.parse(readFileSync('sdk-php/composer.json', 'utf8')).version).toBe(version)
})

import { readdirSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

const sources = readdirSync(import.meta.dirname).filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))

it.each(sources)('%s knows pix/ and lib/ and nothing else of the gateway', (name) => {
  const source = readFileSync(`${import.meta.dirname}/${name}`, 'utf8')
  const imported = [...source.matchAll(/(?:from|import|import\()\s*'(\.[^']*)'/g)].map((match) => match[1])
  expect(imported.filter((path) => !/^(\.\/[\w-]+|\.\.\/src\/(pix|lib)\/[\w-]+)\.ts$/.test(path ?? ''))).toEqual([])
})

it('has all its SQL in its stores', () => {
  const sql = /\b(select .* from|insert into|update .* set|delete from|create (table|schema))\b/i
  const places = sources.filter((name) => sql.test(readFileSync(`${import.meta.dirname}/${name}`, 'utf8')))
  expect(places.filter((name) => !/^([a-z]+-)?store\.ts$/.test(name))).toEqual([])
  expect(places).toContain('store.ts')
})

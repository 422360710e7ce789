import fc from 'fast-check'
import { expect, it } from 'vitest'
import { type ApiDocument, listOperations } from './api-document.ts'
import { arbitraryRequest } from './fuzz.ts'

it('generates the same requests again from the same seed', () => {
  const schema = { type: 'object', properties: { a: { type: 'boolean' } } }
  const content = { 'application/json': { schema } }
  const operations = listOperations({ paths: { '/': { post: { requestBody: { content }, responses: {} } } } })
  const request = arbitraryRequest(operations, { document: {} as ApiDocument, token: '', known: {} })
  const sample = () => fc.sample(request, { seed: 3, numRuns: 1_000 })
  const first = sample()
  expect(sample().findIndex(({ body }, index) => body !== first[index]?.body)).toBe(-1)
})

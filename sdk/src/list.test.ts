import { expect, it } from 'vitest'
import { Guiche } from './index.ts'

const queries: string[] = []
const fetch = async (url: string | URL | Request) => {
  queries.push(new URL(String(url)).search)
  return Response.json({ data: [{ id: 'a' }, { id: 'b' }], nextCursor: 'next' })
}
const guiche = new Guiche({ baseUrl: 'https://pix.test', accessToken: () => 'a-token', fetch })

it.each([Number.NaN, -1, 1.5])('refuses a limit of %s, which no number of items reaches', async (limit) => {
  queries.length = 0
  await expect(guiche.events.list().all({ limit })).rejects.toThrow('limit must be a whole number.')
  expect(queries).toEqual([])
})

it('sends an undefined entry of a list of filters, for the service to refuse: the list would be empty without it', async () => {
  queries.length = 0
  const status = [undefined] as unknown as 'PAID'[]
  await guiche.transactions.list({ status }).page()
  expect(queries).toEqual(['?status=undefined'])
})

import { expect, it } from 'vitest'
import { Guiche } from './index.ts'

const connect = (baseUrl: string, fetch?: typeof globalThis.fetch) =>
  new Guiche({ baseUrl, accessToken: () => 'a-token', maxRetries: 0, ...(fetch && { fetch }) })

it.each([
  '',
  'pix.test',
  'ftp://pix.test',
  'https://user:secret@pix.test',
  'https://pix.test?a=b',
  'https://pix.test/#a',
])('refuses the address %j', (baseUrl) => {
  expect(() => connect(baseUrl)).toThrow('baseUrl must be')
})

it.each(['https://pix.test/?', 'https://pix.test#', 'https://pix.test/api?#'])(
  'refuses %j, whose query or fragment is empty',
  (baseUrl) => {
    expect(() => connect(baseUrl)).toThrow('baseUrl must be')
  },
)

it('sends no request with a token that is undefined', async () => {
  const accessToken = () => undefined as unknown as string
  const guiche = new Guiche({ baseUrl: 'https://pix.test', accessToken, fetch: async () => expect.unreachable() })
  await expect(guiche.balance.get()).rejects.toThrow('accessToken must return the token')
})

it('appends paths to an address with or without a final slash', async () => {
  const urls: string[] = []
  const fetch = async (url: string | URL | Request) => {
    urls.push(String(url))
    return Response.json({})
  }
  for (const baseUrl of ['https://pix.test', 'https://pix.test/api/']) await connect(baseUrl, fetch).balance.get()
  expect(urls).toEqual(['https://pix.test/balance', 'https://pix.test/api/balance'])
})

it('takes the page of a proxy neither for a deletion nor for an export', async () => {
  const fetch = async () => new Response('<h1>Maintenance</h1>', { headers: { 'content-type': 'text/html' } })
  const guiche = connect('https://pix.test', fetch)
  await expect(guiche.webhookEndpoints.delete('an-id')).rejects.toMatchObject({ code: 'unexpected_answer' })
  await expect(guiche.statement.export()).rejects.toMatchObject({ code: 'unexpected_answer' })
})

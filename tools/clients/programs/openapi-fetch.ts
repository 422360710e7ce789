import createClient from 'openapi-fetch'
import type { components, paths } from './schema.ts'

const [baseUrl = '', clientId = '', clientSecret = ''] = process.argv.slice(2)

const client = createClient<paths>({ baseUrl })
const { data: token } = await client.POST('/auth/token', {
  body: { client_id: clientId, client_secret: clientSecret, grant_type: 'client_credentials' },
  bodySerializer: (form) => new URLSearchParams({ ...form }),
  headers: { 'content-type': 'application/x-www-form-urlencoded' },
})
client.use({
  onRequest({ request }) {
    request.headers.set('authorization', `Bearer ${token?.access_token}`)
  },
})

const created = await client.POST('/transaction', { body: { amount: 2590, paymentMethod: 'PIX', pix: {} } })
if (created.error) throw new Error(created.error.detail)
const { id, pixResponse } = created.data
const paid = await client.POST('/sandbox/payment', { body: { uri: pixResponse.uri } })
if (paid.error) throw new Error(paid.error.detail)

for (let found: components['schemas']['Transaction'] | undefined; !found; ) {
  const page = await client.GET('/transaction', { params: { query: { status: ['PAID'], perPage: 10 } } })
  if (page.error) throw new Error(page.error.detail)
  found = page.data.data.find((transaction) => transaction.id === id)
  if (found) process.stdout.write(`${found.status} ${found.amountPaid} ${found.endToEnd === paid.data.endToEndId}\n`)
}

const feed = await client.GET('/event', { params: { query: { after: 'start', recordId: id } } })
if (feed.error) throw new Error(feed.error.detail)
if (!('next' in feed.data)) throw new Error('not the feed')
for (const event of feed.data.data) {
  // `type` says what `data` is.
  if (event.type === 'transaction.paid') process.stdout.write(`${event.data.amountPaid} ${event.data.sequence}\n`)
  else if (event.type === 'withdrawal.processed') process.stdout.write(`${event.data.amountWithdrawn}\n`)
}

import { client } from './heyapi/client.gen.ts'
import {
  createToken,
  createTransaction,
  listEvents,
  listTransactions,
  payInSandbox,
  type Transaction,
} from './heyapi/index.ts'

const [baseUrl = '', clientId = '', clientSecret = ''] = process.argv.slice(2)

client.setConfig({ baseUrl })
const form = { client_id: clientId, client_secret: clientSecret }
const { data: token } = await createToken({ body: form, throwOnError: true })
client.setConfig({ auth: () => token.access_token })

const { data: created } = await createTransaction({
  body: { amount: 2590, paymentMethod: 'PIX', pix: {} },
  throwOnError: true,
})
const { data: paid } = await payInSandbox({ body: { uri: created.pixResponse.uri }, throwOnError: true })

for (let found: Transaction | undefined; !found; ) {
  const { data: page } = await listTransactions({ query: { status: ['PAID'], perPage: 10 }, throwOnError: true })
  found = page.data.find((transaction) => transaction.id === created.id)
  if (found) process.stdout.write(`${found.status} ${found.amountPaid} ${found.endToEnd === paid.endToEndId}\n`)
}

const { data: feed } = await listEvents({ query: { after: 'start', recordId: created.id }, throwOnError: true })
if (!('next' in feed)) throw new Error('not the feed')
for (const event of feed.data) {
  // `type` says what `data` is.
  if (event.type === 'transaction.paid') process.stdout.write(`${event.data.amountPaid} ${event.data.sequence}\n`)
  else if (event.type === 'withdrawal.processed') process.stdout.write(`${event.data.amountWithdrawn}\n`)
}

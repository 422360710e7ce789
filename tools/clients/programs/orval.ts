import {
  createToken,
  createTransaction,
  listEvents,
  listTransactions,
  payInSandbox,
  type Transaction,
} from './orval.gen.ts'

const [, clientId = '', clientSecret = ''] = process.argv.slice(2)

const token = await createToken({ client_id: clientId, client_secret: clientSecret })
if (token.status !== 200) throw new Error(token.data.error_description)
const signed = { headers: { authorization: `Bearer ${token.data.access_token}` } }

const created = await createTransaction({ amount: 2590, paymentMethod: 'PIX', pix: {} }, signed)
if (created.status !== 201) throw new Error(created.data.detail)
const paid = await payInSandbox({ uri: created.data.pixResponse.uri }, signed)
if (paid.status !== 200) throw new Error(paid.data.detail)

for (let found: Transaction | undefined; !found; ) {
  const page = await listTransactions({ status: ['PAID'], perPage: 10 }, signed)
  if (page.status !== 200) throw new Error(page.data.detail)
  found = page.data.data.find((transaction) => transaction.id === created.data.id)
  if (found) process.stdout.write(`${found.status} ${found.amountPaid} ${found.endToEnd === paid.data.endToEndId}\n`)
}

const feed = await listEvents({ after: 'start', recordId: created.data.id }, signed)
if (feed.status !== 200) throw new Error(feed.data.detail)
if (!('next' in feed.data)) throw new Error('not the feed')
for (const event of feed.data.data) {
  // `type` says what `data` is.
  if (event.type === 'transaction.paid') process.stdout.write(`${event.data.amountPaid} ${event.data.sequence}\n`)
  else if (event.type === 'withdrawal.processed') process.stdout.write(`${event.data.amountWithdrawn}\n`)
}

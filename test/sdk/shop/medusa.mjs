// A payment through Medusa's own payment module. Runs in the folder of the compiled provider, with
// @medusajs/framework and @medusajs/payment; a test reads what it prints.
import { on } from 'node:events'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { Guiche } from '@guiche/sdk'
import { MedusaApp, MedusaAppMigrateUp } from '@medusajs/framework/modules-sdk'
import { Modules } from '@medusajs/framework/utils'

const print = (...texts) => process.stdout.write(`${texts.join(' ')}\n`)
const sandbox = JSON.parse(process.env.GUICHE_SANDBOX ?? '')
const clientUrl = process.env.DATABASE_URL
const server = createServer()
await new Promise((done) => server.listen(0, '127.0.0.1', () => done(undefined)))
const backendUrl = `http://127.0.0.1:${server.address().port}`

const settings = {
  modulesConfig: {
    [Modules.PAYMENT]: {
      resolve: '@medusajs/payment',
      options: {
        database: { clientUrl },
        providers: [
          { resolve: join(import.meta.dirname, 'dist/index.js'), id: 'guiche', options: { ...sandbox, backendUrl } },
        ],
      },
    },
  },
  sharedResourcesConfig: { database: { clientUrl } },
}
await MedusaAppMigrateUp(settings)
const app = await MedusaApp(settings)
await app.onApplicationStart()
const payments = app.modules[Modules.PAYMENT]

/** As Medusa's route and subscriber do it, without the event bus between them. */
async function receive(request, response) {
  const rawData = await buffer(request)
  const payload = { data: JSON.parse(String(rawData)), rawData, headers: request.headers }
  const provider = request.url.replace('/hooks/payment/', '')
  response.writeHead(200).end()
  return await payments.getWebhookActionAndData({ provider, payload })
}
async function untilCaptured() {
  for await (const [request, response] of on(server, 'request')) {
    const result = await receive(request, response)
    if (result.action === 'captured') return result.data
  }
}
const captured = untilCaptured()

const collection = await payments.createPaymentCollections({ currency_code: 'brl', amount: 25.9 })
const session = await payments.createPaymentSession(collection.id, {
  provider_id: 'pp_guiche_guiche',
  currency_code: 'brl',
  amount: 25.9,
  data: {},
})
await payments.authorizePaymentSession(session.id, {}).catch((error) => print(error.message.replace(session.id, 'id')))
await new Guiche(sandbox).sandbox.pay({ uri: session.data.uri })
const { session_id: id, amount } = await captured
print('captured', id === session.id, amount)
const payment = await payments.authorizePaymentSession(id, {})
await payments.refundPayment({ payment_id: payment.id, amount: 5.9 })
const [{ captured_at, refunds }] = await payments.listPayments({ id: payment.id }, { relations: ['refunds'] })
print('paid', captured_at !== null, refunds.map((refund) => Number(refund.amount)).join())
print((await payments.retrievePaymentCollection(collection.id)).status)
process.exit()

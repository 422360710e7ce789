import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Guiche, GuicheError, verifyWebhook, WebhookVerificationError } from '@guiche/sdk'
import express from 'express'

const settings = readSettings()
const guiche = new Guiche(settings)
const price = 2590

/**
 * A real shop keeps its orders in its database.
 * @type {Map<string, { id: string, status: string, code?: string, qrCode?: string, paymentUrl?: string, sequence: number }>}
 */
const orders = new Map()

const shop = express()

shop.get('/', (_, response) => response.sendFile(join(import.meta.dirname, 'index.html')))

shop.post('/orders', async (_, response) => {
  const order = { id: randomUUID(), status: 'PENDING', sequence: 0 }
  // Stored first, so that no webhook arrives before its order exists.
  orders.set(order.id, order)
  const { pixResponse, paymentUrl } = await guiche.transactions.create({
    amount: price,
    // Repeated with the same key, it is still one charge.
    idempotencyKey: order.id,
    externalCode: order.id,
    webhookUrl: `${settings.shopUrl}/webhooks/pix`,
    // Where the payment page leads back to. The visit proves nothing: the webhook does.
    returnUrl: `${settings.shopUrl}/?order=${order.id}`,
  })
  Object.assign(order, { code: pixResponse.uri, qrCode: pixResponse.qrCodeBase64, paymentUrl })
  response.status(201).json(order)
})

shop.get('/orders/:id', (request, response) => {
  const order = orders.get(request.params.id)
  if (order) response.json(order)
  else response.sendStatus(404)
})

// The raw body: a body that was parsed and serialized again has another signature.
shop.post('/webhooks/pix', express.raw({ type: 'application/json' }), async (request, response) => {
  const event = await verifyWebhook(settings.webhookSecret, request.headers, request.body)
  const order = orders.get(event.data.externalCode ?? '')
  // The same event can arrive twice, and a late one is stale.
  if (order && event.data.sequence > order.sequence) {
    order.sequence = event.data.sequence
    if (event.type === 'transaction.paid' && (event.data.amountPaid ?? 0) >= price) markPaid(order)
    if (event.type === 'transaction.refunded' || event.type === 'transaction.infraction') order.status = 'REFUNDED'
    if (event.type === 'transaction.failed') order.status = 'FAILED'
  }
  // Also for types that the shop does not know: after an error, Guichê would send the event again.
  response.sendStatus(204)
})

/**
 * Ships an order once. `transaction.paid` comes again, with a higher sequence, for example after a partial refund, a
 * refused refund or a rejected dispute.
 */
function markPaid(order) {
  if (order.status === 'PAID' || order.status === 'REFUNDED') return
  order.status = 'PAID'
  console.log(`ship ${order.id}`)
}

shop.use((error, _request, response, _next) => {
  if (error instanceof WebhookVerificationError) return response.status(401).send(error.detail)
  console.error(error instanceof GuicheError ? error.message : error)
  return response.sendStatus(500)
})

shop.listen(settings.port, '127.0.0.1', () => console.log(`The shop is open: http://127.0.0.1:${settings.port}`))

/** From the environment, or else from the file that Guichê writes for its sandbox. */
function readSettings() {
  const {
    GUICHE_SANDBOX = join(import.meta.dirname, '../../data/sandbox.json'),
    PORT = '8000',
    SHOP_URL = `http://127.0.0.1:${PORT}`,
  } = process.env
  const sandbox = existsSync(GUICHE_SANDBOX) ? JSON.parse(readFileSync(GUICHE_SANDBOX, 'utf8')) : {}
  return {
    baseUrl: process.env.GUICHE_URL ?? sandbox.baseUrl,
    clientId: process.env.GUICHE_CLIENT_ID ?? sandbox.clientId,
    clientSecret: process.env.GUICHE_CLIENT_SECRET ?? sandbox.clientSecret,
    webhookSecret: process.env.GUICHE_WEBHOOK_SECRET ?? sandbox.webhookSecret,
    shopUrl: SHOP_URL,
    port: Number(PORT),
  }
}

// Express 5, zod, jsonwebtoken, knex and qrcode, in the usual combination.
import { randomUUID } from 'node:crypto'
import express from 'express'
import jwt from 'jsonwebtoken'
import createKnex from 'knex'
import QRCode from 'qrcode'
import { createBrCode } from './brcode.js'
import { createTransaction } from './schema.js'

const { PORT, PGHOST, PGUSER, PGDATABASE, JWT_SECRET } = process.env

const knex = createKnex({
  client: 'pg',
  connection: { host: PGHOST, user: PGUSER, database: PGDATABASE },
  pool: { min: 2, max: 20 },
})

const app = express()
app.disable('x-powered-by')
app.use(express.json({ limit: '64kb' }))

app.get('/health', (_request, response) => response.json({ status: 'ok' }))

app.use((request, response, next) => {
  const [scheme, token] = (request.headers.authorization ?? '').split(' ')
  if (scheme !== 'Bearer' || !token) return response.status(401).json({ error: 'missing_token' })
  try {
    request.merchantId = jwt.verify(token, JWT_SECRET, { algorithms: ['HS256'] }).sub
    next()
  } catch {
    response.status(401).json({ error: 'invalid_token' })
  }
})

app.post('/transaction', async (request, response) => {
  const parsed = createTransaction.safeParse(request.body)
  if (!parsed.success) return response.status(422).json({ errors: parsed.error.issues })
  const row = await insert(request.merchantId, parsed.data)
  response.status(201).json({
    id: row.id,
    externalCode: row.external_code,
    amount: Number(row.amount),
    type: 'TRANSACTION',
    status: row.status,
    pixResponse: await toPixResponse(row),
  })
})

app.get('/transaction/:id', async (request, response) => {
  const row = await knex('transactions').where({ id: request.params.id, merchant_id: request.merchantId }).first()
  if (!row) return response.status(404).json({ error: 'not_found' })
  const history = await knex('status_history').where({ transaction_id: row.id }).orderBy('id')
  response.json({
    id: row.id,
    amount: Number(row.amount),
    paymentMethod: row.payment_method,
    webhookUrl: row.webhook_url,
    externalCode: row.external_code,
    customer: row.customer,
    seller: row.seller,
    isInfoProduct: row.is_info_product,
    address: row.address,
    items: row.items,
    metadata: row.metadata,
    createdAt: row.created_at,
    status: row.status,
    statusHistory: history.map(({ status, changed_at: changedAt }) => ({ status, changedAt })),
    updatedAt: row.updated_at,
    pixResponse: await toPixResponse(row),
  })
})

app.use((error, _request, response, _next) => {
  response.status(error.status ?? 500).json({ error: error.status ? error.message : 'internal_error' })
})

app.listen(Number(PORT), '127.0.0.1')

async function insert(merchantId, body) {
  const now = new Date()
  const row = {
    id: randomUUID(),
    merchant_id: merchantId,
    amount: body.amount,
    status: 'PIX_QRCODE_GENERATED',
    payment_method: body.paymentMethod,
    idempotency_key: body.idempotencyKey,
    external_code: body.externalCode,
    webhook_url: body.webhookUrl,
    is_info_product: body.isInfoProduct,
    customer: toJson(body.customer),
    seller: toJson(body.seller),
    address: toJson(body.address),
    items: toJson(body.items),
    metadata: toJson(body.metadata),
    pix_expiration_seconds: body.pix.expirationSeconds,
    pix_uri: createBrCode(),
    pix_expires_at: new Date(now.getTime() + body.pix.expirationSeconds * 1000),
    created_at: now,
    updated_at: now,
  }
  try {
    await knex.transaction(async (trx) => {
      await trx('transactions').insert(row)
      await trx('status_history').insert([
        { transaction_id: row.id, status: 'PENDING', changed_at: now },
        { transaction_id: row.id, status: row.status, changed_at: now },
      ])
      await trx('events').insert({
        id: randomUUID(),
        merchant_id: merchantId,
        transaction_id: row.id,
        type: 'transaction.pix_qrcode_generated',
        payload: JSON.stringify({ id: row.id, amount: row.amount, status: row.status }),
        created_at: now,
      })
    })
    return row
  } catch (error) {
    // The key exists already: the first transaction is the answer.
    if (error.code !== '23505') throw error
    return await knex('transactions').where({ merchant_id: merchantId, idempotency_key: row.idempotency_key }).first()
  }
}

async function toPixResponse(row) {
  return {
    uri: row.pix_uri,
    qrCodeBase64: await QRCode.toDataURL(row.pix_uri, { errorCorrectionLevel: 'M' }),
    expirationDate: row.pix_expires_at,
  }
}

function toJson(value) {
  return value === undefined ? null : JSON.stringify(value)
}

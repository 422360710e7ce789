import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Access } from '../../src/http/server.ts'

export type Route = {
  method: string
  url: string
  access: Access | undefined
  /** The statuses of the answers that have a schema. */
  statuses: string[]
}

type Registered = {
  method: string | string[]
  url: string
  config?: { access?: Access }
  schema?: { response?: object }
}
type Starting = {
  fastify: { addHook(name: 'onRoute', hook: (route: Registered) => void): void }
}

/** The routes that fastify registers while `start` runs, so that none is missed. */
export async function collectRoutes<Started>(
  start: () => Promise<Started>,
): Promise<{ started: Started; routes: Route[] }> {
  const registered: Registered[] = []
  const listen = (message: unknown) =>
    (message as Starting).fastify.addHook('onRoute', (route) => registered.push(route))
  subscribe('fastify.initialization', listen)
  const started = await start().finally(() => unsubscribe('fastify.initialization', listen))
  const routes = registered.flatMap(({ method, url, config, schema }) => {
    const statuses = Object.keys(schema?.response ?? {})
    return [method].flat().map((one) => ({ method: one, url, access: config?.access, statuses }))
  })
  // Fastify answers HEAD on every GET route, with the same access rules.
  return { started, routes: routes.filter(({ method }) => method !== 'HEAD') }
}

/** A `payout` is a withdrawal that was sent; a `withdrawal` waits for approval. */
const recordNames = [
  ...(['transaction', 'withdrawal', 'payout', 'refund', 'delivery', 'endpoint', 'client', 'user'] as const),
  ...(['resend', 'link', 'dispute'] as const),
] as const

/** The access that a route should require, and the merchant's record that its parameter names. */
export type Expected = {
  /** A permission or scope; `signed in` for any signed-in person; `public` for everybody. */
  may: string
  /** Another permission that is enough for people. */
  orMay?: string
  /** The permission that people need instead of the clients' scope. */
  ofPeople?: string
  /** The merchant's record that parameters or body name: another merchant's people do not find it. */
  record?: (typeof recordNames)[number]
  /** `:client`, `:transaction` and `:delivery` are replaced by the merchant's. */
  body?: object
  /** `:id` is replaced by the id of the `record`. */
  query?: string
  /**
   * The status of the answer to another merchant's people, and to its token if there is a `record`. By default it is
   * 404 with a `record`, and any but 500 without. 200: without the record; 201 or 409: the request is about a record of
   * their own merchant instead; 403: every merchant is refused; 422: no valid body is sent.
   */
  outsiderStatus?: 200 | 201 | 403 | 409 | 422
  /** Changes the person's own sign-in: ends sessions, or changes the password or the second factor. */
  changesSignIn?: true
  /** Not tried as another merchant: for the operator's people only, or a sandbox control that acts on all merchants. */
  isGlobal?: true
}

const listed = (may: string): Expected => ({ may, outsiderStatus: 200 })
const one = (may: string, record: NonNullable<Expected['record']>, more: Partial<Expected> = {}): Expected => ({
  may,
  record,
  ...more,
})
const operator = (may: string): Expected => ({ may, isGlobal: true })
const sandbox = (may: string): Expected => ({ may, orMay: 'sandbox.use', isGlobal: true })
/** Webhook endpoints decide where data goes, and show secrets. */
const ofPeople = { ofPeople: 'credential.write' }
const open: Expected = { may: 'public' }
const period = { from: '2020-01-01T00:00:00Z', until: '2099-01-01T00:00:00Z' }
const inPeriod = new URLSearchParams(period).toString()
const inDays = 'from=2026-01-01&until=2026-12-31'

const link = { title: 'Link', amount: 100, needsCustomer: false, isEnabled: true, hasStaticCode: false }

const read = { revision: 0, fileIds: [] }
const delivery = { kind: null, carrier: '', trackingCode: '', deliveredOn: '', receivedBy: '', invoice: '' }
const defence = { text: 'Of a stranger', delivery, revision: 0 }

/** Every route of the service, written by hand: a new route without an entry here fails the test. */
export const expectations: Record<string, Expected> = {
  'GET /': open,
  'GET /.well-known/jwks.json': open,
  'GET /.well-known/oauth-authorization-server': open,
  'GET /auth/token': open,
  'POST /auth/token': open,
  'POST /callbacks/:acquirer/:secret': open,
  'POST /callbacks/:acquirer/:secret/lancamento': open,
  'POST /callbacks/:acquirer/:secret/pix': open,
  'POST /callbacks/:acquirer/:secret/pix-pagamento': open,
  'GET /dashboard': open,
  'GET /dashboard/*': open,
  'GET /dashboard/assets/*': open,
  'GET /dashboard/icon.svg': open,
  'GET /dashboard/icon-192.png': open,
  'GET /dashboard/icon-512.png': open,
  'GET /dashboard/app.webmanifest': open,
  'GET /favicon.ico': open,
  'GET /docs': open,
  'GET /docs/*': open,
  'GET /docs/json': open,
  'GET /docs/yaml': open,
  'GET /guide': open,
  'GET /guide/*': open,
  'GET /health/live': open,
  'GET /health/ready': open,
  'GET /llms.txt': open,
  'GET /metrics': open,
  'GET /openapi.json': open,
  'GET /l/:slug': open,
  'GET /l/:slug/logo.png': open,
  'POST /l/:slug': open,
  'GET /pay/:token': open,
  'GET /pay/:token/events': open,
  'GET /pay/:token/logo.png': open,
  'GET /pay/:token/receipt.pdf': open,
  'GET /pay/embed.js': open,
  'POST /pay/:token': open,
  'POST /pay/sample': open,
  'GET /qr/jwks.json': open,
  'GET /qr/v2/:id': open,
  'POST /dashboard/api/session': open,
  'GET /dashboard/api/sign-in': open,
  'GET /dashboard/api/invitation/:token': open,
  'POST /dashboard/api/invitation/:token': open,

  'GET /dashboard/api/session': { may: 'signed in', outsiderStatus: 200 },
  'DELETE /dashboard/api/session': { may: 'signed in', changesSignIn: true },
  'PUT /dashboard/api/password': { may: 'signed in', changesSignIn: true },
  'POST /dashboard/api/second-factor': { may: 'signed in', changesSignIn: true },
  'PUT /dashboard/api/second-factor': { may: 'signed in', changesSignIn: true },
  'DELETE /dashboard/api/second-factor': { may: 'signed in', changesSignIn: true },

  'GET /dashboard/api/own-session': { may: 'signed in', outsiderStatus: 200 },
  'DELETE /dashboard/api/own-session': { may: 'signed in', changesSignIn: true },
  'DELETE /dashboard/api/own-session/:id': { may: 'signed in', changesSignIn: true },

  'GET /dashboard/api/link': { ...listed('transaction.read'), query: 'clientId=:id', record: 'client' },
  'POST /dashboard/api/link': {
    may: 'transaction.write',
    record: 'client',
    // The link is created for their own merchant.
    outsiderStatus: 201,
    body: { clientId: ':client', id: 'c0ffee00-0000-4000-8000-000000000001', ...link },
  },
  'GET /dashboard/api/link/:id': one('transaction.read', 'link'),
  'GET /dashboard/api/link/:id/payment': one('transaction.read', 'link'),
  'PUT /dashboard/api/link/:id': one('transaction.write', 'link', {
    body: { ...link, changedAt: '2026-01-01T00:00:00Z' },
  }),

  'GET /balance': listed('balance.read'),
  'GET /statement': listed('balance.read'),
  'GET /statement.csv': listed('balance.read'),
  'GET /event': listed('webhook.read'),
  'GET /event/:id': one('webhook.read', 'delivery'),
  'GET /webhook/delivery': listed('webhook.read'),
  'POST /webhook/delivery/:eventId/resend': one('webhook.write', 'delivery'),
  'GET /webhook-endpoint': listed('webhook.read'),
  'POST /webhook-endpoint': { may: 'webhook.write', ...ofPeople },
  'GET /webhook-endpoint/:id': one('webhook.read', 'endpoint'),
  'PATCH /webhook-endpoint/:id': one('webhook.write', 'endpoint', { ...ofPeople, body: { enabled: false } }),
  'DELETE /webhook-endpoint/:id': one('webhook.write', 'endpoint', ofPeople),
  'POST /webhook-endpoint/:id/secret': one('webhook.write', 'endpoint', { ...ofPeople, body: { overlapHours: 0 } }),
  'POST /webhook-endpoint/:id/test': one('webhook.write', 'endpoint', ofPeople),
  'GET /transaction': listed('transaction.read'),
  'POST /transaction/search': { ...listed('transaction.read'), body: {} },
  'GET /transaction.csv': listed('transaction.read'),
  'POST /transaction/search.csv': { ...listed('transaction.read'), body: {} },
  'POST /transaction': { may: 'transaction.write' },
  'GET /transaction/:id': one('transaction.read', 'transaction'),
  'GET /transaction/:id/event': one('transaction.read', 'transaction'),
  'GET /transaction/:id/payment-link': one('transaction.read', 'transaction'),
  'POST /transaction/:id/cancel': one('transaction.write', 'transaction'),
  'POST /transaction/:id/refund': one('refund.write', 'transaction', {
    body: { amount: 100, idempotencyKey: 'refund-by-a-stranger' },
  }),
  'GET /withdrawal': listed('withdrawal.read'),
  'POST /withdrawal/search': { ...listed('withdrawal.read'), body: {} },
  'GET /withdrawal.csv': listed('withdrawal.read'),
  'POST /withdrawal/search.csv': { ...listed('withdrawal.read'), body: {} },
  'POST /withdrawal': { may: 'withdrawal.write' },
  'GET /withdrawal/:id': one('withdrawal.read', 'withdrawal'),
  'GET /withdrawal/:id/event': one('withdrawal.read', 'withdrawal'),
  'POST /withdrawal/:id/cancel': one('withdrawal.write', 'withdrawal'),
  'POST /withdrawal/:id/confirm': one('withdrawal.write', 'withdrawal'),

  'POST /sandbox/clock': { may: 'transaction.write' },
  'GET /sandbox/personality': sandbox('transaction.write'),
  'POST /sandbox/personality': sandbox('transaction.write'),
  'POST /sandbox/payment': sandbox('transaction.write'),
  'POST /sandbox/infraction': sandbox('transaction.write'),
  'POST /sandbox/infraction/:reference/:decision': sandbox('transaction.write'),
  'POST /sandbox/return': sandbox('transaction.write'),
  'POST /sandbox/withdrawal/:payoutId/return': sandbox('withdrawal.write'),

  'GET /dashboard/api/live': { may: 'signed in' },
  'GET /dashboard/api/overview': listed('overview.read'),
  'POST /dashboard/api/search': { ...listed('transaction.read'), body: { text: 'order-of-alfa' } },
  'GET /dashboard/api/customer/:id': one('transaction.read', 'transaction'),
  'GET /dashboard/api/first-steps': listed('signed in'),
  'PUT /dashboard/api/first-steps': { ...listed('signed in'), body: { isDismissed: true } },
  'GET /dashboard/api/attention': listed('overview.read'),
  'POST /dashboard/api/list/transaction': listed('transaction.read'),
  'POST /dashboard/api/list/transaction/summary': listed('transaction.read'),
  'POST /dashboard/api/list/withdrawal': listed('withdrawal.read'),
  'POST /dashboard/api/list/withdrawal/summary': listed('withdrawal.read'),
  'POST /dashboard/api/list/dispute': listed('infraction.read'),
  'POST /dashboard/api/list/delivery': listed('webhook.read'),
  'POST /dashboard/api/list/delivery/summary': listed('webhook.read'),
  'GET /dashboard/api/saved-view': { may: 'signed in', query: 'screen=transactions', outsiderStatus: 200 },
  'POST /dashboard/api/saved-view': { may: 'signed in', outsiderStatus: 422 },
  'DELETE /dashboard/api/saved-view/:id': { may: 'signed in' },
  'GET /dashboard/api/record/:id': one('transaction.read', 'transaction'),
  'GET /dashboard/api/transaction/:id/receipt.pdf': one('transaction.read', 'transaction'),
  'GET /dashboard/api/withdrawal/:id/receipt.pdf': one('withdrawal.read', 'payout'),
  'GET /dashboard/api/refund/:id/receipt.pdf': one('transaction.read', 'refund'),
  'GET /dashboard/api/transaction/:id/refund': one('refund.write', 'transaction'),
  'POST /dashboard/api/transaction/refund': {
    ...listed('refund.write'),
    body: { batchId: '0f8fad5b-d9cb-469f-a165-70867728950e', refunds: [{ id: ':transaction', amount: 100 }] },
  },

  'GET /dashboard/api/branding': { ...listed('credential.write'), query: 'clientId=:id', record: 'client' },
  'PUT /dashboard/api/branding': {
    ...{ ...listed('credential.write'), outsiderStatus: 409 },
    body: { color: '#0055aa', shopUrl: null, embedOrigins: [], showsItems: false, changedAt: null },
    query: 'clientId=:id',
    record: 'client',
  },

  'GET /dashboard/api/client': listed('signed in'),
  'POST /dashboard/api/client': {
    may: 'credential.write',
    outsiderStatus: 403,
    body: { name: 'Loja Gama', scopes: ['balance.read'] },
  },
  'GET /dashboard/api/client/:clientId': one('credential.write', 'client'),
  'PATCH /dashboard/api/client/:clientId': one('credential.write', 'client', {
    body: { scopes: ['balance.read'], before: [] },
    outsiderStatus: 403,
  }),
  'POST /dashboard/api/client/:clientId/secret': one('credential.write', 'client', {
    // With a client's own secret it also requires the client's scopes: dashboard-developer.test.ts.
    body: { of: 'webhook', overlapHours: 0 },
  }),
  'POST /dashboard/api/client/:clientId/revocation': one('credential.write', 'client', { body: { tokensOnly: false } }),

  'GET /dashboard/api/user': listed('user.write'),
  'POST /dashboard/api/user': {
    may: 'user.write',
    body: { email: 'stranger@example.com', role: 'owner', clientId: ':client' },
  },
  'PATCH /dashboard/api/user/:id': one('user.write', 'user', { body: { isDisabled: true } }),
  'POST /dashboard/api/user/:id/reset': one('user.write', 'user', { body: { secondFactor: true } }),

  'GET /dashboard/api/api-request': { ...listed('webhook.read'), query: 'clientId=:id', record: 'client' },
  'POST /dashboard/api/record/:id/webhook-test': one('webhook.write', 'transaction', {
    body: { eventType: 'transaction.paid' },
  }),
  'GET /dashboard/api/webhook/delivery': listed('webhook.read'),
  'GET /dashboard/api/webhook/delivery/:eventId/payload': one('webhook.read', 'delivery'),
  'GET /dashboard/api/webhook/receiver': listed('webhook.read'),
  'GET /dashboard/api/webhook/resend': {
    ...listed('webhook.write'),
    query: `${inPeriod}&state=delivered&state=gone&state=exhausted&state=canceled&state=pending`,
  },
  'GET /dashboard/api/webhook/resend/:resendId': one('webhook.read', 'resend', { outsiderStatus: 200 }),
  'PUT /dashboard/api/webhook/resend/:resendId': one('webhook.write', 'resend', {
    body: { ...period, states: ['delivered', 'gone', 'exhausted', 'canceled', 'pending'] },
    outsiderStatus: 200,
  }),
  'PUT /dashboard/api/webhook/resend/:resendId/selection': one('webhook.write', 'resend', {
    body: { deliveries: [{ eventId: ':delivery', endpointId: null }] },
    outsiderStatus: 200,
  }),

  'GET /dashboard/api/withdrawal/pending-review': listed('withdrawal.read'),
  'GET /dashboard/api/withdrawal/:id': one('withdrawal.read', 'withdrawal'),
  'POST /dashboard/api/withdrawal/preview': { may: 'withdrawal.write' },
  'POST /dashboard/api/withdrawal/:id/approval': one('withdrawal.approve', 'withdrawal'),
  'POST /dashboard/api/withdrawal/:id/rejection': one('withdrawal.approve', 'withdrawal'),
  'POST /dashboard/api/withdrawal/approval': operator('withdrawal.approve'),
  'POST /dashboard/api/withdrawal/rejection': operator('withdrawal.approve'),
  'POST /dashboard/api/withdrawal/:id/settlement': one('withdrawal.approve', 'withdrawal'),
  'GET /dashboard/api/withdrawal-limits': listed('withdrawal.read'),
  'PATCH /dashboard/api/withdrawal-limits': { may: 'withdrawal.approve' },
  'GET /dashboard/api/notice': listed('user.write'),
  'GET /dashboard/api/proposal': operator('withdrawal.approve'),
  'POST /dashboard/api/proposal/:id/approval': operator('withdrawal.approve'),
  'POST /dashboard/api/proposal/:id/rejection': operator('withdrawal.approve'),
  'POST /dashboard/api/infraction': { may: 'infraction.decide' },
  'POST /dashboard/api/infraction/:id/decision': operator('infraction.decide'),
  'GET /dashboard/api/infraction/:id/defence': one('infraction.read', 'dispute'),
  'GET /dashboard/api/infraction/:id/defence.zip': one('infraction.read', 'dispute'),
  'PUT /dashboard/api/infraction/:id/defence': one('infraction.defend', 'dispute', { body: defence }),
  'POST /dashboard/api/infraction/:id/defence/sending': one('infraction.defend', 'dispute', { body: read }),
  'POST /dashboard/api/infraction/:id/defence/hand-in': one('infraction.defend', 'dispute', {
    body: { ...read, reference: 'stranger' },
  }),
  'GET /dashboard/api/infraction/:id/file/:fileId': one('infraction.read', 'dispute'),
  'PUT /dashboard/api/infraction/:id/file/:fileId': one('infraction.defend', 'dispute', { query: 'name=a.txt' }),
  'DELETE /dashboard/api/infraction/:id/file/:fileId': one('infraction.defend', 'dispute'),

  'GET /dashboard/api/balance-history': listed('balance.read'),
  'GET /dashboard/api/report/period': { ...listed('balance.read'), query: inDays },
  'GET /dashboard/api/report/month.zip': { ...listed('balance.read'), query: inDays },
  'GET /dashboard/api/report/schedule': listed('report.write'),
  'POST /dashboard/api/report/schedule': { may: 'report.write' },
  'PATCH /dashboard/api/report/schedule/:id': { may: 'report.write', body: { isPaused: true } },
  'DELETE /dashboard/api/report/schedule/:id': { may: 'report.write' },
  'GET /dashboard/api/report/transactions': { ...listed('transaction.read'), query: `${inDays}&format=csv` },
  'GET /dashboard/api/report/withdrawals': { ...listed('withdrawal.read'), query: `${inDays}&format=csv` },
  'GET /dashboard/api/report/statement': { ...listed('balance.read'), query: `${inDays}&format=ofx` },
  'GET /dashboard/api/report/fees': { ...listed('balance.read'), query: `${inDays}&format=csv` },
  'GET /dashboard/api/fee': listed('balance.read'),
  'PUT /dashboard/api/fee': operator('fee.write'),
  'GET /dashboard/api/entry': operator('ledger.read'),
  'POST /dashboard/api/entry': operator('reconciliation.decide'),
  'POST /dashboard/api/entry/preview': operator('reconciliation.decide'),
  'GET /dashboard/api/ledger': operator('ledger.read'),
  'GET /dashboard/api/ledger/transactions': one('balance.read', 'transaction', {
    query: 'id=:id',
    outsiderStatus: 200,
  }),
  'GET /dashboard/api/suspense': operator('reconciliation.read'),
  'GET /dashboard/api/suspense/:id': operator('reconciliation.read'),
  'GET /dashboard/api/suspense/:id/match': operator('reconciliation.decide'),
  'POST /dashboard/api/suspense/:id/match': operator('reconciliation.decide'),
  'POST /dashboard/api/suspense/:id/return': operator('reconciliation.decide'),
  'POST /dashboard/api/suspense/:id/undoing': operator('reconciliation.decide'),
  'GET /dashboard/api/reconciliation': operator('reconciliation.read'),
  'GET /dashboard/api/reconciliation/requested/:id': operator('reconciliation.read'),
  'GET /dashboard/api/reconciliation/day': operator('reconciliation.read'),
  'GET /dashboard/api/reconciliation/day/:acquirer/:day': operator('reconciliation.read'),
  'GET /dashboard/api/reconciliation/day/:acquirer/:day/statement.jws': operator('reconciliation.read'),
  'GET /dashboard/api/reconciliation/day/:acquirer/:day/statement.pdf': operator('reconciliation.read'),
  'GET /dashboard/api/reconciliation/difference': operator('reconciliation.read'),
  'GET /dashboard/api/reconciliation/difference/:id': operator('reconciliation.read'),
  'GET /dashboard/api/reconciliation/run': operator('reconciliation.read'),
  'GET /dashboard/api/reconciliation/statement-keys.json': operator('reconciliation.read'),
  'POST /dashboard/api/reconciliation/day': operator('reconciliation.decide'),
  'POST /dashboard/api/reconciliation/difference/:id/confirmation': {
    ...operator('reconciliation.decide'),
    body: { proposal: { action: 'settle' } },
  },
  'POST /dashboard/api/reconciliation/difference/:id/dismissal': operator('reconciliation.decide'),
  'POST /dashboard/api/reconciliation/run': operator('reconciliation.decide'),

  'GET /dashboard/api/system': operator('system.read'),
  'GET /dashboard/api/alerts': { ...operator('system.read'), query: 'language=en' },
  'GET /dashboard/api/cells': operator('system.read'),
  'POST /dashboard/api/payout-freeze': operator('payouts.release'),
  'POST /dashboard/api/payout-freeze/release': operator('payouts.release'),
  'GET /dashboard/api/audit': operator('audit.read'),
  'GET /dashboard/api/audit.csv': operator('audit.read'),
  'POST /dashboard/api/person/export': operator('personal_data.write'),
  'POST /dashboard/api/person/erasure': operator('personal_data.write'),
}

import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import { type DialectName, quirksOf } from '../../simulator/dialects.ts'
import { changeQuirks } from '../../simulator/quirks.ts'
import { startSimulatorServer } from '../../simulator/server.ts'
import { encodeDynamicBrCode } from '../../src/pix/brcode.ts'
import { type TestSimulator, testSimulator } from './simulator.ts'

/** The documented requests of each PSP, written here independently of the simulator's tables. */
export type RequestForm = {
  token: { path: string; headers?: Record<string, string>; body: string; query?: string }
  charges: string
  pix: string
  headers?: () => Record<string, string>
  query?: string
}

export const clientId = 'guiche'
const secret = 'simulated-money-only'
const form = { 'content-type': 'application/x-www-form-urlencoded' }
const basic = { authorization: `Basic ${Buffer.from(`${clientId}:${secret}`).toString('base64')}` }
const grant = 'grant_type=client_credentials'
export const scope = 'scope=cob.read%20cob.write%20pix.read%20pix.write%20webhook.read%20webhook.write'
const keycloak = '/auth/realms/cooperado/protocol/openid-connect/token'

export const requestForms: Record<DialectName, RequestForm> = {
  generic: { token: { path: '/oauth/token', headers: { ...form, ...basic }, body: grant }, charges: '', pix: '' },
  efi: {
    token: {
      path: '/oauth/token',
      headers: { ...basic, 'content-type': 'application/json' },
      body: '{"grant_type":"client_credentials"}',
    },
    charges: '/v2',
    pix: '/v2',
  },
  bb: {
    token: { path: '/oauth/token', headers: { ...form, ...basic }, body: `${grant}&${scope}` },
    charges: '/pix/v2',
    pix: '/pix/v2',
    query: 'gw-dev-app-key=simulated-app-key',
  },
  itau: {
    token: { path: '/api/oauth/token', headers: form, body: `${grant}&client_id=${clientId}&client_secret=${secret}` },
    charges: '/pix_recebimentos/v2',
    pix: '/pix_recebimentos/v2',
    headers: () => ({ 'x-itau-apikey': clientId, 'x-itau-correlationID': randomUUID() }),
  },
  sicredi: {
    token: { path: '/oauth/token', headers: { ...form, ...basic }, body: `${grant}&${scope}` },
    charges: '/api/v3',
    pix: '/api/v2',
  },
  sicoob: {
    token: { path: keycloak, headers: form, body: `${grant}&client_id=${clientId}&${scope}` },
    charges: '/pix/api/v2',
    pix: '/pix/api/v2',
    headers: () => ({ client_id: clientId }),
  },
  inter: {
    token: {
      path: '/oauth/v2/token',
      headers: form,
      body: `${grant}&client_id=${clientId}&client_secret=${secret}&${scope}`,
    },
    charges: '/pix/v2',
    pix: '/pix/v2',
  },
  santander: {
    token: { path: '/oauth/token', headers: form, body: `client_id=${clientId}&client_secret=${secret}`, query: grant },
    charges: '/api/v1',
    pix: '/api/v1',
  },
  bradesco: {
    token: { path: '/auth/server/oauth/token', headers: { ...form, ...basic }, body: grant },
    charges: '/v2',
    pix: '/v2',
  },
}

export type Answer = { status: number; type: string; body: Record<string, unknown> }
export type Psp = {
  simulator: TestSimulator
  url: string
  close(): Promise<void>
}

/** The code of a charge, built from its location if the PSP does not return it. */
export function toCode({ body }: Answer): string {
  const code = body.pixCopiaECola ?? body.brcode
  if (typeof code === 'string') return code
  return encodeDynamicBrCode({ location: String(body.location), merchantName: 'LOJA', merchantCity: 'BRASIL' })
}

export const controlToken = 'a-token-for-the-developer'

/** A simulator with a dialect, over HTTP. */
export async function openPsp(pool: pg.Pool, name: DialectName, quirks: string[] = []): Promise<Psp> {
  const dialect = name === 'generic' && quirks.length === 0 ? {} : { dialect: changeQuirks(quirksOf(name), quirks) }
  // The server starts first: the simulator needs its address.
  const served: Pick<TestSimulator, 'handle'> = { handle: () => Promise.reject(new Error('not started yet')) }
  const server = await startSimulatorServer({ simulator: served, host: '127.0.0.1', port: 0 })
  const simulator = await testSimulator(pool, { ...dialect, controlToken, publicBaseUrl: server.url })
  served.handle = simulator.handle
  return {
    simulator,
    url: server.url,
    async close() {
      await server.close()
      await simulator.close()
    },
  }
}

export async function requestPspToken(psp: Psp, { token }: Pick<RequestForm, 'token'>): Promise<Answer> {
  const path = token.query ? `${token.path}?${token.query}` : token.path
  return await fetched(psp, { method: 'POST', path, headers: token.headers, body: token.body })
}

/** The same request for a token as JSON instead of a form, or as a form instead of JSON. */
export function inOtherFormat({ body, query = '', headers, ...rest }: RequestForm['token']): RequestForm['token'] {
  const isJson = headers?.['content-type'] === 'application/json'
  const fields = isJson ? JSON.parse(body) : Object.fromEntries(new URLSearchParams(`${query}&${body}`))
  const type = isJson ? 'application/x-www-form-urlencoded' : 'application/json'
  return {
    ...rest,
    headers: { ...headers, 'content-type': type },
    body: isJson ? String(new URLSearchParams(fields)) : JSON.stringify(fields),
  }
}

/** Sends a request with a new token, as the PSP documents it. */
export async function sendRequest(
  psp: Psp,
  form: { [Member in keyof RequestForm]: RequestForm[Member] | undefined } & Pick<RequestForm, 'token'>,
  method: string,
  path: string,
  body?: unknown,
  more: Record<string, string> = {},
): Promise<Answer> {
  const token = await requestPspToken(psp, form)
  const query = form.query ? `${path.includes('?') ? '&' : '?'}${form.query}` : ''
  return await fetched(psp, {
    method,
    path: path + query,
    headers: { authorization: `Bearer ${String(token.body.access_token)}`, ...form.headers?.(), ...more },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
}

export async function fetched(
  psp: Psp,
  {
    method,
    path,
    headers,
    body,
  }: { method: string; path: string; headers?: Record<string, string> | undefined; body?: string },
): Promise<Answer> {
  const answer = await fetch(psp.url + path, {
    method,
    ...(headers && { headers }),
    ...(body !== undefined && { body }),
  })
  const text = await answer.text()
  return {
    status: answer.status,
    type: answer.headers.get('content-type') ?? '',
    body: text === '' ? {} : JSON.parse(text),
  }
}

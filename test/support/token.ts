import { request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { expect } from 'vitest'
import { type Scope, scopes } from '../../src/auth/scopes.ts'
import { loadSecretKey } from '../../src/auth/secret-key.ts'
import { createMerchant } from '../../src/merchant.ts'
import type { TestService } from './service.ts'

export type TokenAnswer = { status: number; headers: IncomingHttpHeaders; text: string; body: Record<string, unknown> }

export type TokenRequest = {
  method?: string
  path?: string
  form?: Record<string, string> | string
  headers?: Record<string, string>
}

/**
 * Sends a request to the token endpoint as a shop's own HTTP client may. Unlike fetch, this one sends a GET with a
 * body.
 */
export async function requestToken(
  { baseUrl }: { baseUrl: string },
  { method = 'POST', path = '/auth/token', form, headers = {} }: TokenRequest,
): Promise<TokenAnswer> {
  const sent = typeof form === 'object' ? new URLSearchParams(form).toString() : form
  return await new Promise((resolve, reject) => {
    const request = httpRequest(baseUrl + path, {
      method,
      headers: {
        ...(sent !== undefined && {
          'content-type': 'application/x-www-form-urlencoded',
          'content-length': String(Buffer.byteLength(sent)),
        }),
        ...headers,
      },
    })
    request.on('error', reject)
    request.on('response', (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8')
        const isJson = text !== '' && /json/.test(response.headers['content-type'] ?? '')
        const body = isJson ? JSON.parse(text) : {}
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text, body })
      })
    })
    request.end(sent)
  })
}

export type Shop = { merchantId: string; clientId: string; clientSecret: string; webhookSecret: string }

/** Creates another merchant with an API client, which has all scopes by default. */
export async function registerShop(
  { db, clock }: Pick<TestService, 'db' | 'clock'>,
  input: { clientId?: string; scopes?: Scope[] } = {},
): Promise<Shop> {
  const { key } = await loadSecretKey(db, null)
  return await db.transaction(
    async (tx) => await createMerchant(tx, { clock, key }, { name: 'Shop', scopes: [...scopes], ...input }),
  )
}

export function basic(clientId: string, clientSecret: string): Record<string, string> {
  return { authorization: `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}` }
}

export function encodeForm(text: string): string {
  return new URLSearchParams({ '': text }).toString().slice(1)
}

/** Expects an error as in RFC 6749 §5.2, which no cache may store. */
export function expectRefusal(answer: TokenAnswer, status: number, error: string): void {
  expect({ status: answer.status, error: answer.body.error }).toEqual({ status, error })
  expect(Object.keys(answer.body)).toEqual(['error', 'error_description'])
  expect(answer.body.error_description).toMatch(/^[\x20\x21\x23-\x5b\x5d-\x7e]+$/)
  expect(answer.headers['content-type']).toMatch(/^application\/json/)
  expect(answer.headers['cache-control']).toBe('no-store')
  expect(answer.headers.pragma).toBe('no-cache')
}

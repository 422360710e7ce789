import { inspect } from 'node:util'
import { Webhook } from 'standardwebhooks'
import { describe, expect, it } from 'vitest'
import { WebhookVerificationError } from './errors.ts'
import { createTestEvent, signWebhook } from './testing.ts'
import { verifyWebhook } from './webhook.ts'

const [secret, next, other] = ['first', 'next', 'other'].map((text) => `whsec_${btoa(text.padEnd(24, '.'))}`) as [
  string,
  string,
  string,
]
const event = createTestEvent('transaction.paid', { amount: 2590, externalCode: 'órder-2026-🌞' })

async function refusal(verified: Promise<unknown>): Promise<WebhookVerificationError> {
  const error = await verified.catch((reason: unknown) => reason)
  if (error instanceof WebhookVerificationError) return error
  throw new Error(`Not refused: ${String(error)}`)
}

describe('a webhook', () => {
  it('returns its event when it verifies, and the type narrows the data', async () => {
    const { headers, body } = await signWebhook(secret, event)
    const verified = await verifyWebhook(secret, headers, body)
    expect(verified).toEqual(event)
    if (verified.type !== 'transaction.paid') throw new Error('another type')
    expect(verified.data.amountPaid).toBe(2590)
  })

  it('accepts a body as text or bytes, and the headers of any platform', async () => {
    const { headers, body } = await signWebhook(secret, event)
    const bytes = new TextEncoder().encode(body)
    for (const raw of [body, bytes, Buffer.from(body), bytes.buffer])
      expect(await verifyWebhook(secret, new Headers(headers), raw)).toEqual(event)
    const upper = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), [value]]))
    expect(await verifyWebhook(secret, upper, body)).toEqual(event)
  })

  it('is interchangeable with the Standard Webhooks library in both directions', async () => {
    const body = JSON.stringify(event)
    const now = new Date()
    const theirs = {
      'webhook-id': 'an-id',
      'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
      'webhook-signature': new Webhook(secret).sign('an-id', now, body),
    }
    expect(await verifyWebhook(secret, theirs, body)).toEqual(event)
    const ours = await signWebhook(secret, event)
    expect(new Webhook(secret).verify(ours.body, ours.headers)).toEqual(event)
  })

  it('verifies with either secret during a change of secrets', async () => {
    const rotating = await signWebhook([secret, next], event)
    for (const known of [secret, next, [secret, next], [other, next]])
      expect(await verifyWebhook(known, rotating.headers, rotating.body)).toEqual(event)
    for (const known of [secret, next])
      expect(new Webhook(known).verify(rotating.body, rotating.headers)).toEqual(event)
    expect((await refusal(verifyWebhook(other, rotating.headers, rotating.body))).detail).toMatch(
      /No signature matches/,
    )
    const before = await signWebhook(secret, event)
    expect(await verifyWebhook([next, secret], before.headers, before.body)).toEqual(event)
  })

  it('has the signature of the standard’s example', async () => {
    const { headers } = await signWebhook('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', '{"test": 2432232314}', {
      id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      timestamp: new Date(1614265330_000),
    })
    expect(headers['webhook-signature']).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=')
  })

  it('is refused when any part of it was changed', async () => {
    const { headers, body } = await signWebhook(secret, event)
    const detail = async (changed: Record<string, string>, sent = body) =>
      (await refusal(verifyWebhook(secret, { ...headers, ...changed }, sent))).detail
    expect(await detail({}, body.replace('2590', '1'))).toMatch(/not parsed and serialized again/)
    expect(await detail({ 'webhook-id': 'another' })).toMatch(/No signature/)
    expect(await detail({ 'webhook-timestamp': String(Number(headers['webhook-timestamp']) + 1) })).toMatch(
      /No signature/,
    )
    for (const signature of ['v1,', 'v1,####', `v2,${headers['webhook-signature'].slice(3)}`, 'v1', ' '])
      expect(await detail({ 'webhook-signature': signature })).toMatch(/No signature/)
    for (const name of Object.keys(headers).filter((one) => one.startsWith('webhook-')))
      expect(await detail({ [name]: '' })).toContain(`The header ${name} is missing`)
    expect(await detail({ 'webhook-timestamp': 'now' })).toMatch(/not a number/)
  })

  it('is refused when its timestamp is too old or in the future', async () => {
    const now = new Date()
    const later = (seconds: number) => new Date(now.getTime() + seconds * 1000)
    const { headers, body } = await signWebhook(secret, event, { timestamp: now })
    for (const seconds of [299, -299]) await verifyWebhook(secret, headers, body, { now: later(seconds) })
    for (const seconds of [302, -302])
      expect((await refusal(verifyWebhook(secret, headers, body, { now: later(seconds) }))).detail).toMatch(
        /300 seconds/,
      )
    await verifyWebhook(secret, headers, body, { now: later(9_000), toleranceSeconds: 10_000 })
    for (const toleranceSeconds of [30, Number.NaN])
      await refusal(verifyWebhook(secret, headers, body, { now: later(60), toleranceSeconds }))
  })

  it('is refused when it is signed but is not an event', async () => {
    for (const text of ['', 'null', '[1]', 'no JSON', '{"type":1}', '{"type":"x","data":null}']) {
      const { headers, body } = await signWebhook(secret, text)
      expect((await refusal(verifyWebhook(secret, headers, body))).detail).toMatch(/is not an event/)
    }
  })
})

describe('a receiver with a wrong configuration', () => {
  it('gets an error that never shows a secret', async () => {
    const { headers, body } = await signWebhook(secret, event)
    const wrong = ['', 'not-a-webhook-secret', 'whsec_', 'whsec_###', undefined as unknown as string]
    for (const one of wrong) {
      const error = await verifyWebhook(one, headers, body).catch((reason: unknown) => reason)
      expect(error).toBeInstanceOf(TypeError)
      if (one?.length > 6) expect(inspect(error)).not.toContain(one)
    }
    await expect(verifyWebhook([], headers, body)).rejects.toThrow('needs a secret')
    const parsed = JSON.parse(body)
    await expect(verifyWebhook(secret, headers, parsed)).rejects.toThrow(/raw body is needed/)
    expect(inspect(await refusal(verifyWebhook(other, headers, body)), { depth: null })).not.toContain(other.slice(6))
  })
})

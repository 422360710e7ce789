import { randomBytes } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { describe, expect, it } from 'vitest'
import { findSignatureFault, signDelivery } from './sign.ts'

const secret = () => `whsec_${randomBytes(32).toString('base64')}`
const [one, two] = [secret(), secret()]
const now = new Date()
const body = '{"type":"transaction.paid","data":{"customer":"José 🌞"}}'
const headers = signDelivery({ secrets: [one, two], id: 'an-id', timestamp: now, body })

describe('signatures', () => {
  it('match the example of the Standard Webhooks libraries', () => {
    const signed = signDelivery({
      secrets: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
      id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      timestamp: new Date(1614265330_000),
      body: '{"test": 2432232314}',
    })
    expect(signed['webhook-signature']).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=')
  })

  it('are accepted by the official verifier with either live secret', () => {
    expect(new Webhook(one).verify(body, headers)).toEqual(JSON.parse(body))
    expect(new Webhook(two).verify(body, headers)).toEqual(JSON.parse(body))
    expect(() => new Webhook(secret()).verify(body, headers)).toThrow()
  })

  it('of the official signer are accepted by ours', () => {
    const signature = new Webhook(one).sign('an-id', now, body)
    const theirs = { ...headers, 'webhook-signature': `v1a,xyz ${signature}` }
    expect(findSignatureFault({ secrets: [one], headers: theirs, body, now })).toBeNull()
  })

  it.each<[string, Partial<Parameters<typeof findSignatureFault>[0]>]>([
    ['another secret', { secrets: [secret()] }],
    ['no secret at all', { secrets: [] }],
    ['a changed body', { body: body.replace('paid', 'fail') }],
    ['another id', { headers: { ...headers, 'webhook-id': 'another' } }],
    ['a missing header', { headers: { ...headers, 'webhook-id': '' } }],
    ['a timestamp that is no number', { headers: { ...headers, 'webhook-timestamp': 'now' } }],
    ['a delivery of six minutes ago', { now: new Date(now.getTime() + 360_000) }],
    ['a delivery of the future', { now: new Date(now.getTime() - 360_000) }],
  ])('are refused for %s', (_, change) => {
    expect(findSignatureFault({ secrets: [one], headers, body, now, ...change })).not.toBeNull()
  })
})

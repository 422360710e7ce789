import { randomBytes } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { describe, expect, it } from 'vitest'
import { verifyWebhook } from '../../sdk/src/index.ts'
import { signDelivery } from './sign.ts'

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

  it('are accepted by the official verifier with either active secret', () => {
    expect(new Webhook(one).verify(body, headers)).toEqual(JSON.parse(body))
    expect(new Webhook(two).verify(body, headers)).toEqual(JSON.parse(body))
    expect(() => new Webhook(secret()).verify(body, headers)).toThrow()
  })

  it('are accepted by the verifier of the SDK with either', async () => {
    const event = JSON.parse(body)
    for (const secrets of [one, two, [secret(), two]])
      expect(await verifyWebhook(secrets, headers, body)).toEqual(event)
    await expect(verifyWebhook(secret(), headers, body)).rejects.toThrow('No signature matches')
  })
})

import { describe, expect, it } from 'vitest'
import { startTestService } from '../support/service.ts'
import { askForToken, expectRefusal } from '../support/token.ts'

const wrong = { client_id: 'gc_unknown', client_secret: 'guess' }

describe('the rate limit of the token endpoint', () => {
  it('holds per address, says what is left, and lets in again when it says so', async () => {
    const limited = await startTestService({ environment: { RATE_LIMIT_TOKEN: '0.2' } })
    // The service's own test client has taken the one that the bucket holds: ⌈0.2 × 5⌉.
    const refused = await askForToken(limited, { form: wrong })
    expectRefusal(refused, 429, 'rate_limited')
    expect(refused.headers['retry-after']).toBe('5')
    expect(refused.headers['ratelimit-policy']).toBe('"token";q=1;w=5')
    expect(refused.headers.ratelimit).toBe('"token";r=0;t=5')
    limited.clock.advance(4_999)
    expect((await askForToken(limited, { form: wrong })).status).toBe(429)
    limited.clock.advance(1)
    const { clientId, clientSecret } = limited.sandbox
    const again = await askForToken(limited, { form: { client_id: clientId, client_secret: clientSecret } })
    expect(again.status).toBe(200)
    expect(again.headers.ratelimit).toMatch(/^"token-client";r=\d+;t=\d+$/)
    await limited.stop()
  })

  it('counts wrong secrets and malformed requests too', async () => {
    const limited = await startTestService({ environment: { RATE_LIMIT_TOKEN: '1' } })
    const answers = []
    for (let i = 0; i < 6; i += 1) answers.push((await askForToken(limited, { form: i % 2 ? 'x' : wrong })).status)
    // Five at once, of which the test client took one.
    expect(answers).toEqual([401, 400, 401, 400, 429, 429])
    await limited.stop()
  })

  it('holds per client, from whatever addresses it is asked, and leaves other clients alone', async () => {
    const limited = await startTestService({ environment: { RATE_LIMIT_TOKEN: '0.2', TRUST_PROXY: '127.0.0.1' } })
    const from = (address: string) => ({ 'x-forwarded-for': address })
    const form = { client_id: 'attacked', client_secret: 'guess' }
    const statuses = []
    for (let i = 1; i <= 4; i += 1)
      statuses.push((await askForToken(limited, { form, headers: from(`203.0.113.${i}`) })).status)
    expect(statuses).toEqual([401, 401, 429, 429])
    const refused = await askForToken(limited, { form, headers: from('203.0.113.5') })
    expect(refused.headers['ratelimit-policy']).toBe('"token-client";q=2;w=5')
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
    const other = await askForToken(limited, { form: { ...form, client_id: 'other' }, headers: from('203.0.113.6') })
    expect(other.status).toBe(401)
    await limited.stop()
  })

  it('takes the addresses of one IPv6 network for one, since one host has them all', async () => {
    const limited = await startTestService({ environment: { RATE_LIMIT_TOKEN: '0.2', TRUST_PROXY: '127.0.0.1' } })
    const statusFrom = async (address: string) =>
      (await askForToken(limited, { form: 'x', headers: { 'x-forwarded-for': address } })).status
    expect(await statusFrom('2001:db8:1:2::1')).toBe(400)
    expect(await statusFrom('2001:db8:1:2:ffff:eeee:dddd:cccc')).toBe(429)
    expect(await statusFrom('2001:db8:1:3::1')).toBe(400)
    expect(await statusFrom('198.51.100.1')).toBe(400)
    expect(await statusFrom('::ffff:198.51.100.1')).toBe(429)
    expect(await statusFrom('198.51.100.2')).toBe(400)
    await limited.stop()
  })

  it('is off at 0', async () => {
    const unlimited = await startTestService({ environment: { RATE_LIMIT_TOKEN: '0' } })
    const answers = await Promise.all(Array.from({ length: 30 }, () => askForToken(unlimited, { form: 'x' })))
    for (const { status, headers } of answers) {
      expect(status).toBe(400)
      expect(headers.ratelimit).toBeUndefined()
    }
    await unlimited.stop()
  })
})

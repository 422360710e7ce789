import { describe, expect, it } from 'vitest'
import { sql } from '../../src/db/sql.ts'
import { startTestService } from '../support/service.ts'
import { expectRefusal, requestToken } from '../support/token.ts'
import { eventually } from '../support/webhooks.ts'

const wrong = { client_id: 'gc_unknown', client_secret: 'guess' }

describe('the rate limit of the token endpoint', () => {
  it('applies per address, returns what is left, and accepts requests again after the time in Retry-After', async () => {
    const limited = await startTestService({ environment: { RATE_LIMIT_TOKEN: '0.2' } })
    // One request at once is accepted, ⌈0.2 × 5⌉, and starting the test service used it.
    const refused = await requestToken(limited, { form: wrong })
    expectRefusal(refused, 429, 'rate_limited')
    expect(refused.headers['retry-after']).toBe('5')
    expect(refused.headers['ratelimit-policy']).toBe('"token";q=1;w=5')
    expect(refused.headers.ratelimit).toBe('"token";r=0;t=5')
    // What the start used is added to the shared limits within moments. At a later time it would count in full.
    await eventually(async () => (await limited.db.query(sql`select from rate_limits`)).length === 2)
    limited.clock.advance(4_999)
    expect((await requestToken(limited, { form: wrong })).status).toBe(429)
    limited.clock.advance(1)
    const { clientId, clientSecret } = limited.sandbox
    const again = await requestToken(limited, { form: { client_id: clientId, client_secret: clientSecret } })
    expect(again.status).toBe(200)
    expect(again.headers.ratelimit).toBe('"token";r=0;t=5, "token-client";r=1;t=0')
    expect(again.headers['ratelimit-policy']).toBe('"token";q=1;w=5, "token-client";q=2;w=5')
    await limited.stop()
  })

  it('counts wrong secrets and malformed requests too', async () => {
    const limited = await startTestService({ environment: { RATE_LIMIT_TOKEN: '1' } })
    const answers = []
    for (let i = 0; i < 6; i += 1) answers.push((await requestToken(limited, { form: i % 2 ? 'x' : wrong })).status)
    // Five requests at once are accepted, and starting the test service used one.
    expect(answers).toEqual([401, 400, 401, 400, 429, 429])
    await limited.stop()
  })

  it('never refuses a correct secret because of others’ guesses, from however many addresses they come', async () => {
    const limited = await startTestService({ environment: { RATE_LIMIT_TOKEN: '1', TRUST_PROXY: '127.0.0.1' } })
    const from = (address: string) => ({ 'x-forwarded-for': address })
    const { clientId, clientSecret } = limited.sandbox
    const guess = { client_id: clientId, client_secret: 'guess' }
    const guesses = await Promise.all(
      Array.from({ length: 60 }, async (_, index) => {
        const headers = from(`203.0.113.${(index % 10) + 1}`)
        return (await requestToken(limited, { form: guess, headers })).status
      }),
    )
    expect(new Set(guesses)).toEqual(new Set([401, 429]))
    const own = { client_id: clientId, client_secret: clientSecret }
    const statuses = []
    for (let count = 0; count < 5; count += 1)
      statuses.push((await requestToken(limited, { form: own, headers: from('198.51.100.7') })).status)
    expect(statuses).toEqual(Array(5).fill(200))
    await limited.stop()
  })

  it('applies per client as well, from however many addresses', async () => {
    const limited = await startTestService({ environment: { RATE_LIMIT_TOKEN: '1', TRUST_PROXY: '127.0.0.1' } })
    const { clientId, clientSecret } = limited.sandbox
    const form = { client_id: clientId, client_secret: clientSecret }
    const answers = []
    for (let count = 1; count <= 10; count += 1)
      answers.push(await requestToken(limited, { form, headers: { 'x-forwarded-for': `198.51.100.${count}` } }))
    // Ten requests at once are accepted, and starting the test service used one.
    expect(answers.map(({ status }) => status)).toEqual([...Array(9).fill(200), 429])
    expect(answers.at(-1)?.headers.ratelimit).toBe('"token";r=4;t=0, "token-client";r=0;t=1')
    await limited.stop()
  })

  it('counts the addresses of one IPv6 network as one, since one host has them all', async () => {
    const limited = await startTestService({ environment: { RATE_LIMIT_TOKEN: '0.2', TRUST_PROXY: '127.0.0.1' } })
    const statusFrom = async (address: string) =>
      (await requestToken(limited, { form: 'x', headers: { 'x-forwarded-for': address } })).status
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
    const answers = await Promise.all(Array.from({ length: 30 }, () => requestToken(unlimited, { form: 'x' })))
    for (const { status, headers } of answers) {
      expect(status).toBe(400)
      expect(headers.ratelimit).toBeUndefined()
    }
    await unlimited.stop()
  })
})

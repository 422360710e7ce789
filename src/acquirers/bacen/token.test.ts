import { describe, expect, it } from 'vitest'
import { manualClock } from '../../../test/support/clock.ts'
import type { HttpRequest, HttpResponse } from './http.ts'
import { standardProfile, withOverrides } from './profile.ts'
import { createTokens } from './token.ts'

const json = (status: number, body: unknown, headers = {}): HttpResponse => ({
  status,
  headers,
  body: JSON.stringify(body),
})

function open(answer: (count: number) => HttpResponse, scopes: string[] = []) {
  const clock = manualClock()
  const seen = { count: 0, missing: [] as string[][] }
  const tokens = createTokens({
    credentials: { clientId: 'a', clientSecret: 'b' },
    profile: withOverrides(standardProfile, { token: { scopes } }),
    clock,
    send: async (_: HttpRequest) => answer(++seen.count),
    onFewerScopes: (missing) => seen.missing.push(missing),
  })
  return { clock, seen, tokens }
}

describe('a token that is refused', () => {
  it('is requested again only after a pause, which grows each time', async () => {
    const { clock, seen, tokens } = open(() => json(401, { error: 'invalid_client' }))
    await expect(tokens.get()).rejects.toThrow('answered 401 to the request for a token: invalid_client')
    for (let i = 0; i < 50; i++) await expect(tokens.get()).rejects.toThrow('invalid_client')
    expect(seen.count).toBe(1)
    clock.advance(5_000)
    await expect(tokens.get()).rejects.toThrow()
    clock.advance(5_000)
    await expect(tokens.get()).rejects.toThrow()
    expect(seen.count).toBe(2)
    clock.advance(5_000)
    await expect(tokens.get()).rejects.toThrow()
    expect(seen.count).toBe(3)
  })

  it('is requested again after the first pause when a token was issued in between', async () => {
    const { clock, seen, tokens } = open((count) =>
      count === 2 ? json(200, { access_token: 't', expires_in: 300 }) : json(401, { error: 'invalid_client' }),
    )
    await expect(tokens.get()).rejects.toThrow()
    clock.advance(5_000)
    expect(await tokens.get()).toBe('t')
    clock.advance(300_000)
    await expect(tokens.get()).rejects.toThrow()
    clock.advance(5_000)
    await expect(tokens.get()).rejects.toThrow()
    expect(seen.count).toBe(4)
  })

  it('is requested again when the PSP allows it', async () => {
    const { clock, seen, tokens } = open(() => json(429, {}, { 'retry-after': '600' }))
    await expect(tokens.get()).rejects.toThrow('429')
    clock.advance(599_000)
    await expect(tokens.get()).rejects.toThrow('429')
    expect(seen.count).toBe(1)
    clock.advance(1_000)
    await expect(tokens.get()).rejects.toThrow('429')
    expect(seen.count).toBe(2)
  })

  it('is requested again after the clock was set back', async () => {
    const { clock, seen, tokens } = open(() => json(401, { error: 'invalid_client' }))
    await expect(tokens.get()).rejects.toThrow()
    clock.advance(-2 * 3_600_000)
    await expect(tokens.get()).rejects.toThrow()
    expect(seen.count).toBe(2)
  })

  it('is requested again at once after a 5xx, which is not a refusal', async () => {
    const { tokens } = open((count) => (count === 1 ? json(503, {}) : json(200, { access_token: 't', expires_in: 60 })))
    await expect(tokens.get()).rejects.toThrow('503')
    expect(await tokens.get()).toBe('t')
  })

  it('repeats the text of a proxy that answers without JSON', async () => {
    const page =
      '<html><head><title>400</title></head><body><h1>No required SSL certificate was sent</h1></body></html>'
    const { tokens } = open(() => ({ status: 400, headers: {}, body: page }))
    await expect(tokens.get()).rejects.toThrow(/token: No required SSL certificate was sent$/)
  })
})

describe('a token that is issued', () => {
  it('with fewer scopes is used, and logged once', async () => {
    const { clock, seen, tokens } = open(
      () => json(200, { access_token: 't', expires_in: 300, scope: 'cob.read pix.read' }),
      ['cob.read', 'cob.write'],
    )
    for (let i = 0; i < 3; i++) {
      expect(await tokens.get()).toBe('t')
      clock.advance(600_000)
    }
    expect(seen).toEqual({ count: 3, missing: [['cob.write']] })
  })

  it.each([
    ['without a lifetime is used for four minutes', {}, 240_000],
    ['for less than two minutes is used for half of its lifetime', { expires_in: 90 }, 45_000],
  ])('%s', async (_, lifetime, usedMs) => {
    const { clock, seen, tokens } = open(() => json(200, { access_token: 't', ...lifetime }))
    await tokens.get()
    clock.advance(usedMs - 1_000)
    await tokens.get()
    expect(seen.count).toBe(1)
    clock.advance(1_000)
    await tokens.get()
    expect(seen.count).toBe(2)
  })

  it('in place of a refused one, and refused too, is not replaced for half a minute', async () => {
    const { clock, seen, tokens } = open((count) => json(200, { access_token: `t${count}`, expires_in: 3600 }))
    const first = await tokens.get()
    expect(await tokens.replace(first)).toBe('t2')
    tokens.wasUseless()
    expect(await tokens.replace('t2')).toBeNull()
    clock.advance(30_000)
    expect(await tokens.replace('t2')).toBe('t3')
    // A late call with the old token gets the new one.
    expect(await tokens.replace('t2')).toBe('t3')
    expect(seen.count).toBe(3)
  })
})

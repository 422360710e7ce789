import jsQR from 'jsqr'
import { PNG } from 'pngjs'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { lateAmount, refusedAmount } from '../../simulator/charges.ts'
import { toTxid } from '../../src/pix/ids.ts'
import { manualClock } from '../support/clock.ts'
import { returnUnannounced } from '../support/disputes.ts'
import { charge, payAt, untilStatus } from '../support/payments.ts'
import { refund } from '../support/refunds.ts'
import { addTestClient, fullTransaction } from '../support/requests.ts'
import { smallestTransaction, startTestService, type TestService } from '../support/service.ts'
import { eventually } from '../support/webhooks.ts'

let service: TestService
let unanswered: Promise<string>
beforeAll(async () => {
  service = await startTestService()
  // The service waits ten seconds for its acquirer's answer: the other tests run in the meantime.
  unanswered = chargeWithFault(lateAmount)
})
afterAll(async () => {
  await service.stop()
})

type Link = { url: string; expiresAt: string | null }

const linkOf = async (id: string, from = service) => (await from.call<Link>(`/transaction/${id}/payment-link`)).body

/** A request like a browser's, by default without a preferred language. */
const open = async (url: string, headers: Record<string, string> = {}) => {
  const answer = await fetch(url, { headers: { 'accept-language': '*', ...headers } })
  return { status: answer.status, headers: answer.headers, text: await answer.text() }
}

const stateOf = (text: string) => /<article data-state="(\w+)"/.exec(text)?.[1]

/** A transaction that the acquirer refused or did not answer: the problem has its id. */
const chargeWithFault = async (amount: number) => {
  const { body } = await service.call<{ transactionId: string }>('/transaction', {
    body: smallestTransaction({ amount }),
  })
  return body.transactionId
}

describe('the link', () => {
  it('is the same every time, and has the expiry of the code', async () => {
    const { body: created } = await service.call<{
      id: string
      paymentUrl: string
      pixResponse: { expirationDate: string }
    }>('/transaction', { body: smallestTransaction() })
    const link = await linkOf(created.id)
    expect(link).toEqual({
      url: expect.stringMatching(new RegExp(`^${service.baseUrl}/pay/[\\w-]{43}$`)),
      expiresAt: created.pixResponse.expirationDate,
    })
    expect(await linkOf(created.id.toUpperCase())).toEqual(link)
    expect(link.url).toBe(created.paymentUrl)
  })

  it('is only for the owner of the transaction, with a token that may read it', async () => {
    const { id } = await charge(service)
    const foreign = await addTestClient(service)
    const request = async (token: string | null) =>
      (await service.call(`/transaction/${id}/payment-link`, { token })).status
    expect(await request(foreign.token)).toBe(404)
    expect(await request(null)).toBe(401)
    expect(await request((await addTestClient(service, ['transaction.write'])).token)).toBe(403)
  })
})

describe('the page', () => {
  it('has everything to pay without a script: amount, merchant, code and QR image', async () => {
    const { id, uri } = await charge(service, { amount: 2590 })
    const { url } = await linkOf(id)
    const { status, text } = await open(url)
    expect(status).toBe(200)
    expect(stateOf(text)).toBe('waiting')
    expect(text).toContain('<html lang="pt-BR">')
    expect(text).toContain('R$ 25,90')
    expect(text).toContain('<b>Sandbox</b>')
    expect(text).toContain(`<code id="code">${uri}</code>`)
    expect(text).toContain('<noscript><meta http-equiv="refresh"')
    const image = /src="data:image\/png;base64,([^"]+)"/.exec(text)?.[1] ?? ''
    const { data, width, height } = PNG.sync.read(Buffer.from(image, 'base64'))
    expect(jsQR.default(new Uint8ClampedArray(data), width, height)?.data).toBe(uri)
    expect((await open(url, { 'accept-language': 'en-US,en;q=0.9' })).text).toContain('Pay with Pix')
  })

  it('shows the outcome of the payment, and its time', async () => {
    const { id, uri } = await charge(service, { amount: 4300 })
    const { url } = await linkOf(id)
    await payAt(service, uri)
    await untilStatus(service, id, 'PAID')
    const paid = await open(url)
    expect(stateOf(paid.text)).toBe('paid')
    expect(paid.text).toContain('Pago em 02/03/2026 às\u00a012:00')
    expect(paid.text).not.toContain(uri)
    await refund(service, id)
    await untilStatus(service, id, 'REFUNDED')
    expect(stateOf((await open(url)).text)).toBe('refunded')
  })

  it('shows that money went back under MED', async () => {
    const { id, uri } = await charge(service, { amount: 4400 })
    await payAt(service, uri)
    const { endToEnd = '' } = await untilStatus(service, id, 'PAID')
    await returnUnannounced(service, endToEnd)
    await untilStatus(service, id, 'INFRACTION')
    expect(stateOf((await open((await linkOf(id)).url)).text)).toBe('refunded')
  })

  it('shows for a charge without a code whether there will be one', async () => {
    const refused = await linkOf(await chargeWithFault(refusedAmount))
    expect(refused.expiresAt).toBeNull()
    expect(stateOf((await open(refused.url)).text)).toBe('failed')
    const pending = await linkOf(await unanswered)
    expect(stateOf((await open(pending.url)).text)).toBe('preparing')
  })

  it('removes the code when it has expired', async () => {
    const own = await startTestService({ clock: manualClock() })
    const { id, uri } = await charge(own, { pix: { expirationSeconds: 60 } })
    const { url } = await linkOf(id, own)
    own.clock.advance(59_999)
    expect(stateOf((await open(url)).text)).toBe('waiting')
    own.clock.advance(1)
    const { text } = await open(url)
    expect(stateOf(text)).toBe('expired')
    expect(text).not.toContain(uri)
    await own.stop()
  })

  it('reveals nothing about customer and payer but the masked document of a receipt', async () => {
    const { returnUrl: _, ...body } = fullTransaction()
    const created = await service.call<{ id: string; pixResponse: { uri: string } }>('/transaction', { body })
    expect(created.status, created.text).toBe(201)
    const { id } = created.body
    const { url } = await linkOf(id)
    const pages = [await open(url)]
    const payer = { name: 'Célia Pagadora', document: '11144477735' }
    expect((await payAt(service, created.body.pixResponse.uri, { payer })).status).toBe(200)
    const paid = await untilStatus(service, id, 'PAID')
    expect(JSON.stringify(paid.payer)).toContain('11144477735')
    pages.push(await open(url), await open(`${url}/events`))
    const secrets = [
      '529',
      '982.247',
      'Ávila',
      'vila',
      'Joao',
      'example.com',
      '3333',
      '98765',
      '1990',
      'Paulista',
      '01310',
      'Bela Vista',
    ]
    const more = [
      'Célia',
      'Pagadora',
      '111444',
      id,
      toTxid(id),
      'order-0001',
      '8812',
      'Café',
      'Pedido 42',
      'Cia.',
      '203.0.113',
    ]
    for (const { text, headers } of pages) {
      // The image and the code may contain a short text such as 529 by chance.
      const shown = text.replace(/base64,[^"]+|<code[^>]*>[^<]+|<(style|script)>.*?<\/\1>/gs, '')
      for (const secret of [...secrets, ...more]) expect(shown).not.toContain(secret)
      expect(headers.get('set-cookie')).toBeNull()
    }
  })

  it('is small, not cached, not indexed, and has a strict policy', async () => {
    const { url } = await linkOf((await charge(service, { amount: 2590 })).id)
    const { text, headers } = await open(url)
    expect(text.length).toBeGreaterThan(5_000)
    // Nothing else is loaded: the merchant has no logo, and no attribute of the page names a file.
    expect(Buffer.byteLength(text)).toBeLessThan(30_000)
    expect(text).not.toMatch(/(?:src|href)="(?!data:)/)
    expect(headers.get('x-frame-options')).toBe('SAMEORIGIN')
    expect(Object.fromEntries(headers)).toMatchObject({
      'cache-control': 'no-store',
      'content-type': 'text/html; charset=utf-8',
      'referrer-policy': 'no-referrer',
      'x-robots-tag': 'noindex, nofollow',
      'x-content-type-options': 'nosniff',
    })
    const policy = headers.get('content-security-policy') ?? ''
    expect(policy).toMatch(/^default-src 'none'; style-src 'sha256-[^']+'; script-src 'sha256-[^']+'; /)
    expect(policy).not.toContain('unsafe')
    expect((await fetch(url, { method: 'HEAD' })).status).toBe(200)
  })
})

describe('a wrong token', () => {
  it('gives a page that says so, and many from one address are limited', async () => {
    const own = await startTestService({ environment: { TRUST_PROXY: '127.0.0.1' } })
    const { url } = await linkOf((await charge(own)).id, own)
    const from = { 'x-forwarded-for': '203.0.113.9' }
    const wrong = `${url.slice(0, -2)}${url.endsWith('AA') ? 'BA' : 'AA'}`
    const first = await open(wrong, from)
    expect(first.status).toBe(404)
    expect(first.text).toContain('<h1>Página não encontrada</h1>')
    expect(first.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(first.headers.get('content-security-policy')).toContain("default-src 'none'")
    // A token of another service: well-formed, but made with another key.
    const other = `${own.baseUrl}${new URL((await linkOf((await charge(service)).id)).url).pathname}`
    expect((await open(other, from)).status).toBe(404)
    expect((await open(`${other}/events`, from)).status).toBe(404)
    const answers = await Promise.all(Array.from({ length: 20 }, async () => await open(wrong, from)))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([404, 429]))
    const limited = answers.find(({ status }) => status === 429)
    expect(Number(limited?.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(limited?.text).toContain('Tentativas demais')
    // The limit does not affect a valid link, or another address.
    expect((await open(url, from)).status).toBe(200)
    expect((await open(wrong, { 'x-forwarded-for': '203.0.113.10' })).status).toBe(404)
    await own.stop()
  })
})

describe('the charge of the front page', () => {
  const post = async (path: string, headers: Record<string, string>) =>
    await fetch(`${service.baseUrl}${path}`, { method: 'POST', redirect: 'manual', headers })
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  // Node's `fetch` sends no Origin, and may set it.
  const ownPage = () => ({ ...form, origin: service.baseUrl, 'sec-fetch-site': 'same-origin' })

  it('is created and paid by two forms of the service’s own pages, without an account', async () => {
    const created = await post('/pay/sample', ownPage())
    expect([created.status, created.headers.get('location')]).toEqual([303, expect.stringMatching(/^\.\/[\w-]{43}$/)])
    const url = new URL(created.headers.get('location') ?? '', `${service.baseUrl}/pay/sample`).href
    expect(stateOf((await open(url)).text)).toBe('waiting')
    expect((await post(new URL(url).pathname, ownPage())).headers.get('location')).toBe(created.headers.get('location'))
    await eventually(async () => stateOf((await open(url)).text) === 'paid')
    expect((await post(new URL(url).pathname, ownPage())).status).toBe(303)
    expect((await post(`/pay/${'x'.repeat(43)}`, ownPage())).status).toBe(404)
  })

  it('cannot be created by pages of other sites, nor by many requests', async () => {
    const count = async () => (await service.call<{ total: number }>('/transaction')).body.total
    const before = await count()
    for (const headers of [
      form,
      { ...form, origin: 'https://evil.example' },
      { ...form, origin: 'null' },
      { ...ownPage(), 'sec-fetch-site': 'cross-site' },
      { ...ownPage(), 'sec-fetch-site': 'same-site' },
    ])
      expect((await post('/pay/sample', headers)).status).toBe(403)
    expect(await count()).toBe(before)
    const answers = await Promise.all(
      Array.from({ length: 30 }, async () => (await post('/pay/sample', ownPage())).status),
    )
    expect(answers.filter((status) => status === 429).length).toBeGreaterThanOrEqual(10)
    expect((await count()) - before).toBe(answers.filter((status) => status === 303).length)
  })
})

describe('the stream of events', () => {
  const closes: (() => void)[] = []
  afterEach(() => {
    for (const close of closes.splice(0)) close()
  })

  /** Opens a stream and reads it as it arrives. */
  const listen = async (url: string, headers: Record<string, string> = {}) => {
    const aborter = new AbortController()
    closes.push(() => aborter.abort())
    const answer = await fetch(`${url}/events`, { headers, signal: aborter.signal })
    const received = {
      status: answer.status,
      headers: answer.headers,
      text: '',
      isOver: false,
      close: () => aborter.abort(),
    }
    const read = async () => {
      const decoder = new TextDecoder()
      for await (const piece of answer.body ?? []) received.text += decoder.decode(piece)
      received.isOver = true
    }
    read().catch(() => {})
    return received
  }
  const messagesOf = ({ text }: { text: string }) => [...text.matchAll(/^data: (\w+)$/gm)].map(([, state]) => state)

  it('sends the current state, then that it is paid, and ends', async () => {
    const { id, uri } = await charge(service)
    const { url } = await linkOf(id)
    const received = await listen(url)
    expect(received.headers.get('content-type')).toBe('text/event-stream')
    expect(received.headers.get('x-accel-buffering')).toBe('no')
    await eventually(() => messagesOf(received).length === 1)
    await payAt(service, uri)
    await eventually(() => received.isOver)
    expect(messagesOf(received)).toEqual(['waiting', 'paid'])
    // A browser that reconnects gets an answer that stops it.
    expect((await listen(url)).status).toBe(204)
  })

  it('reports that a code has expired, and ends after the last query to the acquirer', async () => {
    const own = await startTestService()
    const { id } = await charge(own, { pix: { expirationSeconds: 60 } })
    const received = await listen((await linkOf(id, own)).url)
    await eventually(() => messagesOf(received).length === 1)
    own.clock.advance(60_000)
    await eventually(() => messagesOf(received).length === 2)
    expect(received.isOver).toBe(false)
    own.clock.advance(5 * 60_000)
    await own.runJob('transactions.check')
    await eventually(() => received.isOver)
    expect(messagesOf(received)).toEqual(['waiting', 'expired'])
    await own.stop()
  })

  it('reports what another process has posted', async () => {
    const other = await startTestService({ database: service, clock: service.clock })
    const { id, uri } = await charge(service)
    const { url } = await linkOf(id)
    const received = await listen(`${other.baseUrl}${new URL(url).pathname}`)
    await eventually(() => messagesOf(received).length === 1)
    await payAt(service, uri)
    await eventually(() => messagesOf(received).includes('paid'))
    await other.stop()
  })

  it('ends when the service stops, without delaying the stop', async () => {
    const own = await startTestService()
    const { id } = await charge(own)
    const received = await listen((await linkOf(id, own)).url)
    await eventually(() => messagesOf(received).length === 1)
    await own.stop()
    await eventually(() => received.isOver)
    expect(messagesOf(received)).toEqual(['waiting'])
  })

  it('is open at most fifty times for one address, and again when one of them has closed', async () => {
    const own = await startTestService({ environment: { TRUST_PROXY: '127.0.0.1' } })
    const { url } = await linkOf((await charge(own)).id, own)
    const from = { 'x-forwarded-for': '203.0.113.9' }
    const streams = await Promise.all(Array.from({ length: 50 }, async () => await listen(url, from)))
    expect(new Set(streams.map(({ status }) => status))).toEqual(new Set([200]))
    expect((await listen(url, from)).status).toBe(429)
    expect((await listen(url, { 'x-forwarded-for': '203.0.113.10' })).status).toBe(200)
    streams[0]?.close()
    await eventually(async () => (await listen(url, from)).status === 200)
    await own.stop()
  })

  it('reports a code that arrives later', async () => {
    const { url } = await linkOf(await unanswered)
    const received = await listen(url)
    await eventually(() => messagesOf(received).length === 1)
    service.clock.advance(60_000)
    await service.runJob('transactions.check')
    await eventually(() => messagesOf(received).length === 2)
    expect(messagesOf(received)).toEqual(['preparing', 'waiting'])
    expect(stateOf((await open(url)).text)).toBe('waiting')
  })

  it('is not opened by a HEAD request', async () => {
    const { url } = await linkOf((await charge(service)).id)
    expect((await fetch(`${url}/events`, { method: 'HEAD' })).status).toBe(405)
  })
})

import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { issueCertificate } from '../../simulator/certificates.ts'
import { receiverAccount, receiverKey } from '../../simulator/receiver-account.ts'
import {
  type Listener,
  listen,
  makeFolder,
  makeTestCertificates,
  type TestCertificates,
} from '../../test/support/https-psp.ts'
import { txidOf } from '../../test/support/simulator.ts'
import { systemClock } from '../lib/clock.ts'
import { cents } from '../lib/money.ts'
import { AcquirerUnavailable } from './acquirer.ts'
import type { TlsFiles } from './bacen/certificate.ts'
import { standardProfile } from './bacen/profile.ts'
import { type OpenAcquirer, openAcquirer } from './open.ts'
import type { AcquirerSettings } from './settings.ts'

const txid = txidOf(1)
const input = { txid, amount: cents(1050), expiresInSeconds: 900 }
const cob = {
  txid,
  calendario: { criacao: '2026-03-02T15:00:00Z', expiracao: 900 },
  valor: { original: '10.50' },
  pixCopiaECola: '000201',
}

let made: TestCertificates
let files: Awaited<ReturnType<typeof makeFolder>>
const closers: (() => Promise<void>)[] = []
beforeAll(async () => {
  made = await makeTestCertificates()
  files = await makeFolder({
    'ca.pem': made.authority.certificate,
    'foreign-ca.pem': made.foreignAuthority.certificate,
  })
  for (const name of ['client', 'otherClient', 'foreignClient'] as const) await keep(name, made[name])
})
afterAll(() => files.remove())
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

async function keep(name: string, identity: { certificate: string; key: string }) {
  await files.write(`${name}.pem`, identity.certificate)
  await files.write(`${name}.key`, identity.key)
}

const tlsOf = (client: string | null, ca = 'ca.pem'): TlsFiles => ({
  caFile: files.path(ca),
  ...(client && { certFile: files.path(`${client}.pem`), keyFile: files.path(`${client}.key`) }),
})

function open(url: string, more: Partial<AcquirerSettings> = {}): OpenAcquirer {
  const opened = openAcquirer(
    {
      name: 'psp',
      dialect: 'generic',
      environment: 'sandbox',
      hosts: { baseUrl: url },
      credentials: { clientId: 'a', clientSecret: 'b' },
      chave: receiverKey,
      receiver: receiverAccount,
      tls: null,
      timeoutMs: 5_000,
      callbacks: {},
      fees: { payment: null, payout: null },
      profile: standardProfile,
      ...more,
    },
    { clock: systemClock, log: { info() {}, warn() {} } },
  )
  closers.push(opened.close)
  return opened
}

/** Issues tokens, and answers everything else as the listener does; with a charge by default. */
function psp(listener: Listener = (_, answer) => answer.end(JSON.stringify(cob))): Listener {
  return (request, answer) => {
    request.resume()
    if (request.url?.startsWith('/oauth/token')) answer.end(JSON.stringify({ access_token: 't', expires_in: 3600 }))
    else listener(request, answer)
  }
}

async function serve(listener: Listener, identity = made.server): Promise<string> {
  const server = await listen(listener, { identity, clientAuthority: made.authority })
  closers.push(server.close)
  return server.url
}

const failure = async (opened: OpenAcquirer): Promise<Error> => {
  const error = await opened.acquirer.createCharge(input).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(AcquirerUnavailable)
  return error as Error
}

describe('mutual TLS', () => {
  it('accepts the right client, and reports when its certificate expires', async () => {
    const { acquirer } = open(await serve(psp()), { tls: tlsOf('client') })
    expect(await acquirer.createCharge(input)).toMatchObject({ outcome: 'created' })
    expect(acquirer.certificate?.expiresAt()?.getTime()).toBeGreaterThan(Date.now())
    expect(open('http://127.0.0.1:1').acquirer.certificate).toBeNull()
  })

  it.each([
    ['no certificate of ours', null, 'server', 'ca.pem', /certificate/],
    ['a certificate of ours that is foreign to it', 'foreignClient', 'server', 'ca.pem', /certificate/],
    [
      'its own certificate expired',
      'client',
      'expiredServer',
      'ca.pem',
      /its own certificate has expired \(CERT_HAS_EXPIRED\)/,
    ],
    ['its certificate for another host', 'client', 'elsewhereServer', 'ca.pem', /is for another host name/],
    [
      'its certificate of an authority that is not trusted',
      'client',
      'server',
      'foreign-ca.pem',
      /not of a trusted authority: set tls.caFile/,
    ],
  ] as const)('with %s leaves the outcome unknown, and says why', async (_, client, server, ca, said) => {
    const requests: string[] = []
    const url = await serve(
      psp((request) => requests.push(request.url ?? '')),
      made[server],
    )
    const error = await failure(open(url, { tls: tlsOf(client, ca) }))
    expect(error.message).toMatch(/^The acquirer could not be reached: /)
    expect(error.message).toMatch(said)
    expect(requests).toEqual([])
  })

  it('reports a server without TLS', async () => {
    const plain = await listen(psp())
    closers.push(plain.close)
    const error = await failure(open(plain.url.replace('http:', 'https:'), { tls: tlsOf('client') }))
    expect(error.message).toMatch(/speaks no TLS/)
  })

  it('uses a renewed certificate without a restart', async () => {
    await keep('live', made.foreignClient)
    const subjects: string[] = []
    const url = await serve(
      psp((request, answer) => {
        const { subject } = (request.socket as unknown as import('node:tls').TLSSocket).getPeerCertificate()
        subjects.push(String(subject.CN))
        answer.end(JSON.stringify(cob))
      }),
    )
    const { acquirer } = open(url, { tls: tlsOf('live') })
    await expect(acquirer.createCharge(input)).rejects.toThrow(/certificate/)
    // After the refusal it reads the file again, and the next connection uses the new certificate.
    await keep('live', made.client)
    await expect.poll(() => acquirer.findCharge(txid).catch(() => null)).toMatchObject({ txid })
    expect(new Set(subjects)).toEqual(new Set(['client']))
  })

  it('does not start with a certificate that has expired', async () => {
    const past = { validFrom: new Date(Date.now() - 9e8), validTo: new Date(Date.now() - 1e8) }
    await keep('old', await issueCertificate(made.authority, { commonName: 'old', use: 'client', ...past }))
    expect(() => open('https://127.0.0.1:1', { tls: tlsOf('old') })).toThrow(/expired on/)
  })
})

describe('tries', () => {
  const counting = async (
    answers: number[],
    more: Partial<AcquirerSettings> = {},
    headers: Record<string, string> = {},
  ) => {
    const requests: string[] = []
    const url = await serve(
      psp((request, answer) => {
        requests.push(`${request.method} ${request.url?.split('/')[1]}`)
        const status = answers[requests.length - 1] ?? 200
        answer.writeHead(status, headers).end(JSON.stringify(status === 200 ? cob : { title: 'no' }))
      }),
    )
    return { requests, opened: open(url, { tls: tlsOf('client'), ...more }) }
  }

  it('are repeated after a 5xx, three in all, for requests that may be repeated', async () => {
    const found = await counting([503, 500])
    expect(await found.opened.acquirer.createCharge(input)).toMatchObject({ outcome: 'created' })
    expect(found.requests).toHaveLength(3)
    const lost = await counting([503, 503, 503, 503])
    await expect(lost.opened.acquirer.findCharge(txid)).rejects.toThrow('The acquirer answered 503')
    expect(lost.requests).toHaveLength(3)
  })

  it('are never repeated for outgoing money', async () => {
    const { requests, opened } = await counting([503, 503], {
      profile: { ...standardProfile, offers: { payouts: true, disputes: false, defences: false, balance: 'none' } },
    })
    const id = txidOf(7)
    const refund = { endToEndId: `E${'1'.repeat(31)}`, refundId: id, amount: cents(1) }
    await expect(opened.acquirer.refund(refund)).rejects.toBeInstanceOf(AcquirerUnavailable)
    const pixKey = { key: 'a@b.example', type: 'EMAIL' as const }
    const payout = opened.acquirer.payouts?.send({ payoutId: id, amount: cents(1), pixKey })
    await expect(payout).rejects.toBeInstanceOf(AcquirerUnavailable)
    expect(requests).toEqual(['PUT pix', 'PUT v3'])
  })

  it('wait as long as the PSP requests, but not past the time-out', async () => {
    const patient = await counting([429, 200], { timeoutMs: 30_000 }, { 'retry-after': '1' })
    const startedAt = performance.now()
    expect(await patient.opened.acquirer.findCharge(txid)).toMatchObject({ txid })
    // A timer may fire a little before its time.
    expect(performance.now() - startedAt).toBeGreaterThan(950)
    const { requests, opened } = await counting([429, 200], {}, { 'retry-after': '3600' })
    await expect(opened.acquirer.findCharge(txid)).rejects.toThrow('The acquirer answered 429')
    expect(requests).toHaveLength(1)
  })

  it('that are refused are not repeated', async () => {
    const { requests, opened } = await counting([403, 403])
    expect(await opened.acquirer.createCharge(input)).toEqual({ outcome: 'refused', reason: 'no' })
    expect(requests).toHaveLength(1)
  })
})

import { X509Certificate } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { type Identity, issueCertificate, makeAuthority } from '../../simulator/certificates.ts'
import { toCallbackAccess } from '../acquirers/callbacks.ts'
import { createProxyCheck } from '../http/connections.ts'
import { findCertificateFault } from './certificate.ts'

const from = new Date('2026-01-01T00:00:00Z')
const to = new Date('2027-01-01T00:00:00Z')
const now = new Date('2026-06-01T00:00:00Z')

let shown: Identity
let base64: string
beforeAll(async () => {
  const authority = await makeAuthority({ commonName: 'PSP', validFrom: from, validTo: to })
  shown = await issueCertificate(authority, {
    commonName: 'callbacks.psp.example',
    use: 'client',
    validFrom: from,
    validTo: to,
  })
  base64 = new X509Certificate(shown.certificate).raw.toString('base64')
})

type Requested = {
  settings?: NonNullable<Parameters<typeof toCallbackAccess>[0]>['clientCertificate']
  header?: unknown
}

function faultOf({ settings = {}, header = `:${base64}:`, at = now }: Requested & { at?: Date } = {}) {
  const rule = toCallbackAccess({ clientCertificate: settings }).clientCertificate
  if (!rule) throw new Error('no rule')
  const headers = header === undefined ? {} : { [rule.header]: header as string }
  return findCertificateFault(rule, createProxyCheck(['127.0.0.1']), { peer: '127.0.0.1', headers, now: at })?.reason
}

describe('a certificate that a trusted proxy passed on', () => {
  it('is read in the format of RFC 9440, as escaped PEM and as bare base64', () => {
    expect(faultOf()).toBeUndefined()
    expect(faultOf({ header: encodeURIComponent(shown.certificate) })).toBeUndefined()
    expect(faultOf({ header: base64 })).toBeUndefined()
    expect(faultOf({ settings: { header: 'X-Other' }, header: base64 })).toBeUndefined()
  })

  it.each([[''], ['::']])('is required when the proxy sends %j', (header) => {
    expect(faultOf({ header })).toBe('no_certificate')
  })

  it.each([
    ['text', 'SUCCESS'],
    ['base64 of something else', Buffer.from('certificate').toString('base64')],
    ['a broken escape', '-----BEGIN%20CERTIFICATE-----%'],
    ['a list', ['a', 'b']],
  ])('is refused when it is %s', (_, header) => {
    expect(faultOf({ header })).toBe('unreadable_certificate')
  })

  it('is refused when the header contains two', () => {
    expect(faultOf({ header: `:${base64}:, :${base64}:` })).toBe('unreadable_certificate')
  })

  it('is refused before and after its validity', () => {
    expect(faultOf({ at: new Date(from.getTime() - 1000) })).toBe('expired_certificate')
    expect(faultOf({ at: new Date(to.getTime() + 1000) })).toBe('expired_certificate')
    expect(faultOf({ at: to })).toBeUndefined()
  })

  it('is recognised by its fingerprint, in the notation of any tool', () => {
    const fingerprint = new X509Certificate(shown.certificate).fingerprint256
    const other = fingerprint.replace(/^../, fingerprint.startsWith('00') ? '01' : '00')
    expect(faultOf({ settings: { sha256: [other, fingerprint] } })).toBeUndefined()
    expect(faultOf({ settings: { sha256: [fingerprint.replaceAll(':', '').toLowerCase()] } })).toBeUndefined()
    expect(faultOf({ settings: { sha256: [other] } })).toBe('other_certificate')
  })

  it('is recognised by whole parts of its subject, all of those configured', () => {
    const name = 'CN=callbacks.psp.example'
    expect(faultOf({ settings: { subject: [name] } })).toBeUndefined()
    expect(faultOf({ settings: { subject: [name, 'O=Guiche simulator'] } })).toBeUndefined()
    expect(faultOf({ settings: { subject: [name, 'O=Other'] } })).toBe('other_certificate')
    expect(faultOf({ settings: { subject: ['CN=callbacks.psp'] } })).toBe('other_certificate')
  })
})

describe('a proxy', () => {
  it.each([
    ['127.0.0.1', ['127.0.0.1'], true],
    ['::ffff:127.0.0.1', ['127.0.0.1'], true],
    ['10.1.2.3', ['192.0.2.1', '10.0.0.0/8'], true],
    ['::ffff:10.1.2.3', ['10.0.0.0/8'], true],
    ['fd00::5', ['fd00::/8'], true],
    ['11.1.2.3', ['10.0.0.0/8'], false],
    ['127.0.0.1', [], false],
    ['', ['0.0.0.0/0', '::/0'], false],
  ])('at %j is trusted if the trusted proxies are %j: %s', (peer, trusted, isTrusted) => {
    expect(createProxyCheck(trusted)(peer)).toBe(isTrusted)
  })

  it('that is not trusted is refused, whatever its header', () => {
    const rule = toCallbackAccess({ clientCertificate: {} }).clientCertificate
    if (!rule) throw new Error('no rule')
    const call = { peer: '127.0.0.2', headers: { 'client-cert': `:${base64}:` }, now }
    expect(findCertificateFault(rule, createProxyCheck(['127.0.0.1']), call)?.reason).toBe('not_from_proxy')
  })
})

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkWebhookUrl, type Kind, kindOfAddress, kindOfHost, toHost } from './address.ts'

const addresses: Record<Kind, string[]> = {
  public: [
    '1.1.1.1',
    '8.8.8.8',
    '100.63.255.255',
    '100.128.0.0',
    '172.15.255.255',
    '172.32.0.0',
    '168.63.129.15',
    '223.255.255.255',
    '2606:4700:4700::1111',
    '2001:4860:4860::8888',
    '2a00:1450:4001:800::200e',
    // Public addresses in another notation.
    '::ffff:8.8.8.8',
    '64:ff9b::808:808',
  ],
  private: [
    '10.0.0.1',
    '10.255.255.255',
    '100.64.0.1',
    '127.0.0.1',
    '127.255.255.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '::1',
    'fd12:3456:789a::1',
    'fc00::1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::ffff:10.0.0.1',
    '64:ff9b::7f00:1',
    '64:ff9b::c0a8:101',
  ],
  forbidden: [
    '0.0.0.0',
    '0.1.2.3',
    '169.254.169.254',
    '169.254.0.1',
    '168.63.129.16',
    '100.100.100.200',
    '192.0.0.192',
    '192.0.2.1',
    '192.88.99.1',
    '198.18.0.1',
    '198.19.255.255',
    '198.51.100.1',
    '203.0.113.1',
    '224.0.0.1',
    '239.255.255.255',
    '240.0.0.1',
    '255.255.255.255',
    '::',
    '::7f00:1',
    '::127.0.0.1',
    '::8.8.8.8',
    '::ffff:169.254.169.254',
    '::ffff:0:127.0.0.1',
    '64:ff9b::a9fe:a9fe',
    '64:ff9b:1::7f00:1',
    '100::1',
    '2001::1',
    '2001:0:4136:e378:8000:63bf:3fff:fdd2',
    '2001:10::1',
    '2001:20::1',
    '2001:db8::1',
    '2002:7f00:1::',
    '2002:808:808::1',
    '3fff::1',
    '4000::1',
    '5f00::1',
    'fd00:ec2::254',
    'fd20:ce::254',
    'fe80::1',
    'fe80::1%eth0',
    'fec0::1',
    'ff02::1',
    // Not addresses, though a lenient parser accepts them.
    '127.1',
    '0177.0.0.1',
    '2130706433',
    '0x7f000001',
    'localhost',
    '',
  ],
}

describe('the kind of an address', () => {
  for (const kind of ['public', 'private', 'forbidden'] as const) {
    it.each(addresses[kind])(`calls %s ${kind}`, (address) => expect(kindOfAddress(address)).toBe(kind))
  }

  it('classifies an IPv4 address the same whichever IPv6 form wraps it', () => {
    fc.assert(
      fc.property(fc.ipV4(), (address) => {
        const kind = kindOfAddress(address)
        expect(kindOfAddress(`::ffff:${address}`)).toBe(kind)
        expect(kindOfAddress(`64:ff9b::${address}`)).toBe(kind)
        expect(kindOfAddress(`::${address}`)).not.toBe('public')
      }),
    )
  })

  it('calls nothing outside 2000::/3 public, except what wraps a public IPv4 address', () => {
    fc.assert(
      fc.property(fc.ipV6(), (address) => {
        if (kindOfAddress(address) !== 'public') return
        const host = toHost(new URL(`http://[${address}]/`).hostname)
        expect(host).toMatch(/^(?:[23][0-9a-f]{3}:|::ffff:|64:ff9b::)/)
      }),
    )
  })

  it('calls the private IPv4 ranges of a company or machine private, whatever the rest of the address', () => {
    const octet = fc.integer({ min: 0, max: 255 })
    fc.assert(
      fc.property(octet, octet, octet, fc.integer({ min: 16, max: 31 }), (a, b, c, d) => {
        for (const address of [`10.${a}.${b}.${c}`, `127.${a}.${b}.${c}`, `192.168.${a}.${b}`, `172.${d}.${a}.${b}`]) {
          expect(kindOfAddress(address)).toBe('private')
        }
        expect(kindOfAddress(`169.254.${a}.${b}`)).toBe('forbidden')
      }),
    )
  })
})

describe('the kind of a host name', () => {
  it.each([
    ['shop.example', 'public'],
    ['a.b.shop.com.br', 'public'],
    ['xn--caf-dma.com', 'public'],
    ['shop.xn--p1ai', 'public'],
    ['localhost', 'private'],
    ['shop.localhost', 'private'],
    ['printer.local', 'private'],
    ['host.docker.internal', 'private'],
    ['shop.test', 'private'],
    ['router.home.arpa', 'private'],
    ['receiver', 'private'],
    ['shop.123', 'forbidden'],
    ['shop..com', 'forbidden'],
    ['-shop.com', 'forbidden'],
    ['', 'forbidden'],
    ['shop.c', 'forbidden'],
  ] satisfies [string, Kind][])('calls %s %s', (host, kind) => expect(kindOfHost(host)).toBe(kind))
})

describe('webhook URLs', () => {
  const everywhere = [
    'https://shop.example/hook',
    'https://shop.example:8443/a?b=c&d',
    'HTTPS://Shop.Example',
    'https://shop.example:443/',
    'https://shop.example:1024/',
  ]
  const onlyPrivate = [
    'http://127.0.0.1:4000/',
    'http://localhost:4000/hook',
    'https://localhost/hook',
    'http://receiver:8080/hook',
    'https://10.0.0.5/',
    // An address has no top-level domain, even when it is public.
    'https://1.1.1.1/',
    'https://[2606:4700:4700::1111]/',
    'https://shop.example:25/',
    'https://shop.example:1023/',
    'http://[::1]:4000/',
    'http://host.docker.internal/hook',
    // A URL parser reads these as 127.0.0.1.
    'https://2130706433/',
    'https://0x7f.1/',
    'https://127.1/',
    'https://[::ffff:127.0.0.1]/',
  ]
  const nowhere = [
    '',
    'shop.example/hook',
    '/hook',
    'https://',
    'https:///hook',
    'https:shop.example',
    'ftp://shop.example/',
    'javascript:alert(1)',
    'http://shop.example/hook',
    'http://1.1.1.1/',
    'https://shop.example/#here',
    'https://shop.example/#',
    'https://user:password@shop.example/',
    'https://user@shop.example/',
    'https://@shop.example/',
    'https://shop.example/a b',
    ' https://shop.example/',
    'https://shop.example/\n',
    'https://shop.example\\@127.0.0.1/',
    'https://shop.example:0/',
    'https://shop.example:65536/',
    'https://169.254.169.254/latest/meta-data/',
    'https://168.63.129.16/',
    'https://0.0.0.0/',
    'https://[fe80::1]/',
    'https://[::7f00:1]/',
    'https://[::ffff:a9fe:a9fe]/',
    'https://shop.123/',
    `https://shop.example/${'a'.repeat(2048)}`,
  ]

  it.each(everywhere)('accepts %s', (url) => {
    expect(checkWebhookUrl(url, { allowPrivate: false })).toBeNull()
    expect(checkWebhookUrl(url, { allowPrivate: true })).toBeNull()
  })
  it.each(onlyPrivate)('accepts %s with private hosts allowed, and rejects it otherwise', (url) => {
    expect(checkWebhookUrl(url, { allowPrivate: false })).toMatch(/^must /)
    expect(checkWebhookUrl(url, { allowPrivate: true })).toBeNull()
  })
  it.each(nowhere)('always rejects %j', (url) => {
    expect(checkWebhookUrl(url, { allowPrivate: false })).toMatch(/^must /)
    expect(checkWebhookUrl(url, { allowPrivate: true })).toMatch(/^must /)
  })

  it('accepts 2048 characters and rejects 2049', () => {
    const url = 'https://shop.example/'.padEnd(2048, 'a')
    expect(checkWebhookUrl(url, { allowPrivate: false })).toBeNull()
    expect(checkWebhookUrl(`${url}a`, { allowPrivate: false })).toMatch(/2048/)
  })

  it('never throws, and never accepts what the URL parser rejects', () => {
    const authority = fc.webAuthority({ withIPv4: true, withIPv6: true, withPort: true })
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          // Not `fc.webUrl`: for its path it maps all of Unicode, which takes seconds.
          fc.tuple(authority, fc.string()).map(([host, path]) => `https://${host}/${path}`),
          fc.string().map((tail) => `https://${tail}`),
        ),
        (text) => {
          const fault = checkWebhookUrl(text, { allowPrivate: true })
          if (fault === null) expect(URL.canParse(text)).toBe(true)
        },
      ),
    )
  })
})

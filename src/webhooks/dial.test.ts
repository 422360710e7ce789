import type { Resolver } from 'node:dns/promises'
import { createServer } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { Server } from 'node:net'
import { request } from 'undici'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDialler, createResolve } from './dial.ts'

// A self-signed certificate for shop.test alone, valid until 2126. It protects nothing.
const key = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgotEVxsmVv2tqV39v
9qJ1zeV0aIuNy5qQozoJoLgNo3ihRANCAAQC7VjIhags/ig/eBRfUO+In3pEggWi
rRKio/H2OckvGD3GEHKUWEJUVGzcSYg2l3rmKyJCWFdvwcafCU2D5tvH
-----END PRIVATE KEY-----`
const cert = `-----BEGIN CERTIFICATE-----
MIIBlTCCATugAwIBAgIURs8bjF3SdigZ8KG5cYlcqLcSlkwwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJc2hvcC50ZXN0MCAXDTI2MTEyMTA1MzIzOFoYDzIxMjYxMDI4
MDUzMjM4WjAUMRIwEAYDVQQDDAlzaG9wLnRlc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAAQC7VjIhags/ig/eBRfUO+In3pEggWirRKio/H2OckvGD3GEHKUWEJU
VGzcSYg2l3rmKyJCWFdvwcafCU2D5tvHo2kwZzAdBgNVHQ4EFgQU7sYXz8PD0oV3
Mk2iJqReHqzVawgwHwYDVR0jBBgwFoAU7sYXz8PD0oV3Mk2iJqReHqzVawgwDwYD
VR0TAQH/BAUwAwEB/zAUBgNVHREEDTALgglzaG9wLnRlc3QwCgYIKoZIzj0EAwID
SAAwRQIhAJiJNUFSQa7es0UNJBe8NGm2fl2/WVFcGYk6wn8rt+3vAiBgBIX7WeA9
xjlGixT3d/69+leaJXhdDuRPZn4x/ubx3Q==
-----END CERTIFICATE-----`

let connections = 0
const server = createServer((_, response) => response.end('ok')).on('connection', () => {
  connections += 1
})
let port = 0

beforeAll(async () => {
  port = await listen(server)
})
afterAll(() => server.close())

describe('the dialler', () => {
  it.each([
    ['a literal', 'http://127.0.0.1', [], 'PRIVATE_ADDRESS_REFUSED'],
    ['an IPv6 literal', 'http://[::1]', [], 'PRIVATE_ADDRESS_REFUSED'],
    ['a literal written as a number', 'https://2130706433', [], 'PRIVATE_ADDRESS_REFUSED'],
    ['a name that resolves to loopback', 'https://shop.example', ['127.0.0.1'], 'PRIVATE_ADDRESS_REFUSED'],
    [
      'a name that resolves to loopback over IPv6',
      'https://shop.example',
      ['::1', '::ffff:127.0.0.1', '::7f00:1'],
      'PRIVATE_ADDRESS_REFUSED',
    ],
    [
      'a name that resolves to cloud metadata',
      'https://shop.example',
      ['169.254.169.254', 'fd00:ec2::254'],
      'ADDRESS_REFUSED',
    ],
    ['a name with no address', 'https://shop.example', [], 'ADDRESS_REFUSED'],
  ])('refuses %s and opens no connection', async (_, origin, addresses, code) => {
    const dialler = createDialler({ allowPrivate: false, resolve: async () => addresses })
    const before = connections
    await expect(request(`${origin}:${port}/`, { dispatcher: dialler })).rejects.toMatchObject({ code })
    expect(connections).toBe(before)
  })

  it.each([
    ['ENODATA', 'ETIMEOUT', 'ETIMEOUT'],
    ['ESERVFAIL', 'ENODATA', 'ESERVFAIL'],
    ['ENODATA', 'ENODATA', 'ENODATA'],
    ['ENOTFOUND', 'ENOTFOUND', 'ENOTFOUND'],
  ])('reports %s for IPv4 and %s for IPv6 as %s', async (v4, v6, code) => {
    const fail = (code: string) => async () => {
      throw Object.assign(new Error(code), { code })
    }
    const resolve = createResolve(false, { resolve4: fail(v4), resolve6: fail(v6) } as Pick<
      Resolver,
      'resolve4' | 'resolve6'
    >)
    await expect(resolve('shop.example')).rejects.toMatchObject({ code })
  })

  it('refuses http to a public address even with private ones allowed, and metadata always', async () => {
    for (const address of ['1.1.1.1', '169.254.169.254', '168.63.129.16']) {
      const dialler = createDialler({ allowPrivate: true, resolve: async () => [address] })
      await expect(request('http://shop.test/', { dispatcher: dialler })).rejects.toMatchObject({
        code: 'ADDRESS_REFUSED',
      })
    }
  })

  it('resolves once and dials that address: a second answer of the name server changes nothing', async () => {
    let requested = 0
    const resolve = async () => {
      requested += 1
      return requested === 1 ? ['127.0.0.1'] : ['127.0.0.2']
    }
    const dialler = createDialler({ allowPrivate: true, resolve })
    const { statusCode, body } = await request(`http://rebind.test:${port}/`, { dispatcher: dialler })
    await body.dump()
    expect({ statusCode, requested }).toEqual({ statusCode: 200, requested: 1 })
    await dialler.close()
  })

  it('skips forbidden addresses and tries the next one when an address cannot be reached', async () => {
    const dialler = createDialler({
      allowPrivate: true,
      resolve: async () => ['169.254.169.254', '127.0.0.9', '127.0.0.1'],
    })
    const { statusCode, body } = await request(`http://many.test:${port}/`, { dispatcher: dialler })
    await body.dump()
    expect(statusCode).toBe(200)
    await dialler.close()
  })

  it('reaches localhost by name when private hosts are allowed, and follows no redirect', async () => {
    const redirecting = createServer((_, response) =>
      response.writeHead(302, { location: `http://127.0.0.1:${port}/` }).end(),
    )
    const at = await listen(redirecting)
    const dialler = createDialler({ allowPrivate: true })
    const before = connections
    const { statusCode, body } = await request(`http://localhost:${at}/`, { dispatcher: dialler })
    await body.dump()
    expect({ statusCode, connections }).toEqual({ statusCode: 302, connections: before })
    await dialler.close()
    redirecting.close()
  })

  it('verifies the name by TLS although it dials an address', async () => {
    const names: unknown[] = []
    const secure = createTlsServer({ key, cert }, (_, response) => response.end()).on('secureConnection', (socket) => {
      names.push(socket.servername)
    })
    const at = await listen(secure)
    const dialler = createDialler({ allowPrivate: true, resolve: async () => ['127.0.0.1'], tls: { ca: cert } })
    const { statusCode, body } = await request(`https://shop.test:${at}/`, { dispatcher: dialler })
    await body.dump()
    expect({ statusCode, names }).toEqual({ statusCode: 200, names: ['shop.test'] })
    await expect(request(`https://other.test:${at}/`, { dispatcher: dialler })).rejects.toMatchObject({
      code: 'ERR_TLS_CERT_ALTNAME_INVALID',
    })
    await dialler.close()
    secure.close()
  })
})

async function listen(server: Server): Promise<number> {
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}

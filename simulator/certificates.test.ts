import { createPrivateKey, X509Certificate } from 'node:crypto'
import { connect, createServer, type TLSSocket } from 'node:tls'
import { beforeAll, describe, expect, it } from 'vitest'
import { type Identity, issueCertificate, makeAuthority, newPassphrase, toPfx } from './certificates.ts'

const day = 86_400_000
const validFrom = new Date(Date.now() - day)
const validTo = new Date(Date.now() + 30 * day)

let authority: Identity
let server: Identity
let client: Identity
beforeAll(async () => {
  authority = await makeAuthority({ commonName: 'A PSP', validFrom, validTo })
  const hosts = ['localhost', '127.0.0.1', '::1']
  server = await issueCertificate(authority, { commonName: 'localhost', use: 'both', hosts, validFrom, validTo })
  client = await issueCertificate(authority, { commonName: 'A shop', use: 'client', validFrom, validTo })
})

describe('a certificate', () => {
  it('has its authority’s signature, its key, its names and its validity', () => {
    const [ca, made] = [new X509Certificate(authority.certificate), new X509Certificate(server.certificate)]
    expect(made.checkIssued(ca) && made.verify(ca.publicKey) && ca.verify(ca.publicKey)).toBe(true)
    expect([ca.ca, made.ca]).toEqual([true, false])
    expect(made.checkPrivateKey(createPrivateKey(server.key))).toBe(true)
    expect([made.checkHost('localhost'), made.checkIP('127.0.0.1'), made.checkIP('::1')]).not.toContain(undefined)
    expect(made.checkHost('example.com')).toBeUndefined()
    // Certificates have a resolution of one second.
    expect(new Date(made.validTo).getTime()).toBe(Math.floor(validTo.getTime() / 1000) * 1000)
    expect(made.subject).toBe('O=Guiche simulator\nCN=localhost')
  })

  it('has a unique serial number', () => {
    expect(new X509Certificate(client.certificate).serialNumber).not.toBe(
      new X509Certificate(server.certificate).serialNumber,
    )
  })
})

describe('a handshake', () => {
  it('authenticates both sides, with PEM and with PFX', async () => {
    const passphrase = newPassphrase()
    const pfx = toPfx(client, { authority, passphrase })
    expect(await shake({ cert: client.certificate, key: client.key })).toBe('A shop')
    expect(await shake({ pfx, passphrase })).toBe('A shop')
    await expect(shake({ pfx, passphrase: 'another' })).rejects.toThrow()
  })

  it('fails with a certificate of another authority, an expired one and one for servers only', async () => {
    const foreign = await makeAuthority({ commonName: 'A PSP', validFrom, validTo })
    const outsider = await issueCertificate(foreign, { commonName: 'A shop', use: 'client', validFrom, validTo })
    const expired = await issueCertificate(authority, {
      commonName: 'A shop',
      use: 'client',
      validFrom,
      validTo: new Date(Date.now() - 1000),
    })
    const host = await issueCertificate(authority, { commonName: 'A shop', use: 'server', validFrom, validTo })
    await expect(shake({ cert: outsider.certificate, key: outsider.key })).rejects.toThrow()
    await expect(shake({ cert: expired.certificate, key: expired.key })).rejects.toThrow()
    await expect(shake({ cert: host.certificate, key: host.key })).rejects.toThrow()
    await expect(shake({})).rejects.toThrow()
  })
})

/** The client's name as the server read it. */
async function shake(identity: object): Promise<string> {
  const listener = createServer({
    cert: server.certificate,
    key: server.key,
    ca: authority.certificate,
    requestCert: true,
    rejectUnauthorized: true,
  })
  listener.on('secureConnection', (socket: TLSSocket) => socket.end(String(socket.getPeerCertificate().subject.CN)))
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  const address = listener.address()
  const port = typeof address === 'object' && address ? address.port : 0
  try {
    return await new Promise((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1', ca: authority.certificate, ...identity })
      socket.once('data', (read) => resolve(String(read)))
      socket.once('error', reject)
      socket.once('close', () => reject(new Error('The server hung up')))
    })
  } finally {
    listener.close()
  }
}

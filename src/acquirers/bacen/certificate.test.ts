import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { issueCertificate, toPfx } from '../../../simulator/certificates.ts'
import { manualClock } from '../../../test/support/clock.ts'
import { makeFolder, makeTestCertificates, type TestCertificates } from '../../../test/support/https-psp.ts'
import { readTlsMaterial, type TlsFiles } from './certificate.ts'
import { openTls } from './renewal.ts'

const dayMs = 24 * 60 * 60_000
const clock = manualClock()
let made: TestCertificates
let files: Awaited<ReturnType<typeof makeFolder>>

beforeAll(async () => {
  made = await makeTestCertificates(clock.now())
  const pfx = toPfx(made.client, { authority: made.authority, passphrase: 'secret' })
  files = await makeFolder({
    'client.pem': made.client.certificate,
    'client.key': made.client.key,
    'other.key': made.otherClient.key,
    'ca.pem': made.authority.certificate,
    'client.pfx': pfx,
    'text.pem': 'no certificate',
  })
})
afterAll(() => files.remove())

const read = (names: Omit<TlsFiles, 'passphrase'>, passphrase?: string) =>
  readTlsMaterial(toFiles(names, passphrase), clock)

function toFiles(names: Omit<TlsFiles, 'passphrase'>, passphrase?: string): TlsFiles {
  const paths = Object.entries(names).map(([setting, name]) => [setting, files.path(String(name))])
  return { ...Object.fromEntries(paths), ...(passphrase !== undefined && { passphrase: () => passphrase }) }
}

describe('the files of mutual TLS', () => {
  it('are read as PEM, as PFX, and as an authority alone', () => {
    const end = new Date(Math.floor((clock.now().getTime() + 100 * dayMs) / 1000) * 1000)
    expect(read({ certFile: 'client.pem', keyFile: 'client.key' }).expiresAt).toEqual(end)
    expect(read({ pfxFile: 'client.pfx' }, 'secret').expiresAt).toEqual(end)
    expect(read({ caFile: 'ca.pem' })).toMatchObject({ expiresAt: null, options: { ca: expect.any(Buffer) } })
  })

  it.each([
    [{ pfxFile: 'none.pfx' }, undefined, 'pfxFile', 'there is no file'],
    [{ pfxFile: '.' }, undefined, 'pfxFile', 'cannot be read (EISDIR)'],
    [{ pfxFile: 'client.pfx' }, 'wrong', 'pfxFile', 'the passphrase does not open'],
    [{ pfxFile: 'client.pfx' }, undefined, 'pfxFile', 'the passphrase does not open'],
    [{ pfxFile: 'client.pem' }, 'secret', 'pfxFile', 'is not a PFX file'],
    [{ certFile: 'client.pem' }, undefined, 'keyFile', 'is not set'],
    [{ keyFile: 'client.key' }, undefined, 'certFile', 'is not set'],
    [{ certFile: 'text.pem', keyFile: 'client.key' }, undefined, 'certFile', 'is not a certificate in PEM'],
    [{ certFile: 'client.pem', keyFile: 'text.pem' }, undefined, 'keyFile', 'is not a private key in PEM'],
    [{ certFile: 'client.pem', keyFile: 'other.key' }, undefined, 'keyFile', 'is not the key of the certificate'],
    [{ caFile: 'text.pem' }, undefined, 'caFile', 'is not a certificate in PEM'],
  ])('that cannot be used are refused with the setting and the reason: %j %s', (names, passphrase, setting, said) => {
    expect(() => read(names, passphrase)).toThrow(
      expect.objectContaining({ name: 'TlsFileError', setting, message: expect.stringContaining(said) }),
    )
  })

  it('are refused when the certificate has expired, or is not valid yet', async () => {
    const { authority } = made
    const at = (days: number) => new Date(clock.now().getTime() + days * dayMs)
    const make = async (name: string, from: number, to: number) => {
      const input = { commonName: name, use: 'client' as const, validFrom: at(from), validTo: at(to) }
      const { certificate, key } = await issueCertificate(authority, input)
      await files.write(`${name}.pem`, certificate)
      await files.write(`${name}.key`, key)
    }
    await make('old', -9, -1)
    await make('early', 1, 9)
    expect(() => read({ certFile: 'old.pem', keyFile: 'old.key' })).toThrow(/expired on \d{4}-\d\d-\d\d: get a new one/)
    expect(() => read({ certFile: 'early.pem', keyFile: 'early.key' })).toThrow(/not valid before/)
  })
})

describe('a certificate in use', () => {
  const logged: string[] = []
  const log = {
    info: (_: object, said: string) => logged.push(said),
    warn: (_: object, said: string) => logged.push(said),
  }
  const open = (names: Omit<TlsFiles, 'passphrase'>, passphrase?: string) =>
    openTls(toFiles(names, passphrase), { clock, log, name: 'psp' })

  it('is renewed when its files are, and stays while the new ones cannot be used', async () => {
    await files.write('live.pem', made.client.certificate)
    await files.write('live.key', made.client.key)
    const tls = open({ certFile: 'live.pem', keyFile: 'live.key' })
    const first = tls.current()
    tls.refresh()
    expect(tls.current()).toBe(first)
    // Only half of the pair is replaced: it does not match yet.
    await files.write('live.pem', made.otherClient.certificate)
    tls.refresh()
    tls.refresh()
    expect(tls.current()).toBe(first)
    expect(logged.splice(0)).toEqual([expect.stringContaining('cannot be used: the previous ones stay in use')])
    await files.write('live.key', made.otherClient.key)
    tls.refresh()
    expect(tls.current().expiresAt?.getTime()).toBeGreaterThan(first.expiresAt?.getTime() ?? 0)
    expect(logged.splice(0)).toEqual([expect.stringContaining('was renewed')])
    tls.close()
  })

  it('that expires soon is logged once a day', () => {
    const ends = manualClock(new Date(clock.now().getTime() + 71 * dayMs))
    const tls = openTls(toFiles({ certFile: 'client.pem', keyFile: 'client.key' }), { clock: ends, log, name: 'psp' })
    tls.refresh()
    expect(logged.splice(0)).toEqual([expect.stringContaining('expires soon')])
    ends.advance(dayMs)
    tls.refresh()
    expect(logged.splice(0)).toHaveLength(1)
    ends.advance(30 * dayMs)
    tls.refresh()
    expect(logged.splice(0).at(-1)).toContain('has expired')
    tls.close()
  })
})

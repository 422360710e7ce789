import { createPrivateKey, X509Certificate } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import { join } from 'node:path'
import { type Identity, issueCertificate, makeAuthority, newPassphrase, toPfx } from './certificates.ts'

/** The certificates of a simulated PSP's TLS connections, and those that its client needs. */
export type TlsFolder = {
  authority: Identity
  /** The PSP's own certificate: it serves with it, and shows it when it sends callbacks. */
  server: Identity
  client: Identity
  /** The files that a client's settings name. */
  paths: Record<'caFile' | 'certFile' | 'keyFile' | 'pfxFile' | 'passphraseFile', string>
}

const day = 86_400_000
const authorityDays = 3650
const certificateDays = 730
const renewBeforeDays = 30

const names = {
  caFile: 'ca.pem',
  caKeyFile: 'ca-key.pem',
  serverFile: 'server.pem',
  serverKeyFile: 'server-key.pem',
  certFile: 'client.pem',
  keyFile: 'client-key.pem',
  pfxFile: 'client.pfx',
  passphraseFile: 'client-passphrase.txt',
}

/**
 * The certificates in this folder, created if missing. Those of server and client are renewed under the same authority
 * 30 days before they expire, and the server's also when it does not name one of the hosts. 30 days before the
 * authority expires, all three are replaced.
 */
export async function openTlsFolder(
  folder: string,
  { hosts, now }: { hosts: string[]; now: Date },
): Promise<TlsFolder> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const path = (name: keyof typeof names) => join(folder, names[name])
  const read = async (certificate: keyof typeof names, key: keyof typeof names) =>
    await readIdentity(path(certificate), path(key))
  const write = async (name: keyof typeof names, content: string | Buffer) =>
    await writeFile(path(name), content, { mode: 0o600 })
  const valid = { validFrom: new Date(now.getTime() - day), validTo: daysAfter(now, certificateDays) }

  let authority = await read('caFile', 'caKeyFile')
  if (!authority || isEnding(authority, now)) {
    authority = await makeAuthority({
      ...valid,
      commonName: 'Guiche simulator CA',
      validTo: daysAfter(now, authorityDays),
    })
    await write('caKeyFile', authority.key)
    await write('caFile', authority.certificate)
  }

  let server = await read('serverFile', 'serverKeyFile')
  if (!server || !isOf(authority, server) || isEnding(server, now) || !hosts.every((host) => isFor(server, host))) {
    server = await issueCertificate(authority, { ...valid, commonName: hosts[0] ?? 'localhost', use: 'both', hosts })
    await write('serverKeyFile', server.key)
    await write('serverFile', server.certificate)
  }

  let client = await read('certFile', 'keyFile')
  const hasPfx = (await readText(path('pfxFile'))) !== null && (await readText(path('passphraseFile'))) !== null
  if (!client || !isOf(authority, client) || isEnding(client, now) || !hasPfx) {
    client = await issueCertificate(authority, { ...valid, commonName: 'guiche', use: 'client' })
    const passphrase = (await readText(path('passphraseFile')))?.trim() || newPassphrase()
    await write('keyFile', client.key)
    await write('passphraseFile', `${passphrase}\n`)
    await write('pfxFile', toPfx(client, { authority, passphrase }))
    // Last: if an earlier write fails, the next start renews all of them.
    await write('certFile', client.certificate)
  }

  const { caFile, certFile, keyFile, pfxFile, passphraseFile } = names
  const files = { caFile, certFile, keyFile, pfxFile, passphraseFile }
  const paths = Object.fromEntries(Object.entries(files).map(([name, file]) => [name, join(folder, file)]))
  return { authority, server, client, paths: paths as TlsFolder['paths'] }
}

/** Null also if the two files are no pair: a renewal was interrupted between them. */
async function readIdentity(certificatePath: string, keyPath: string): Promise<Identity | null> {
  const certificate = await readText(certificatePath)
  const key = await readText(keyPath)
  if (certificate === null || key === null) return null
  return new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key)) ? { certificate, key } : null
}

async function readText(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    throw error
  }
}

function isOf(authority: Identity, { certificate }: Identity): boolean {
  return new X509Certificate(certificate).verify(new X509Certificate(authority.certificate).publicKey)
}

function isEnding({ certificate }: Identity, now: Date): boolean {
  return new Date(new X509Certificate(certificate).validTo) < daysAfter(now, renewBeforeDays)
}

function isFor(server: Identity | null, host: string): boolean {
  if (!server) return false
  const certificate = new X509Certificate(server.certificate)
  return (isIP(host) === 0 ? certificate.checkHost(host) : certificate.checkIP(host)) !== undefined
}

function daysAfter(date: Date, days: number): Date {
  return new Date(date.getTime() + days * day)
}

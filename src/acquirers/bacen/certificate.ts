import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Duplex } from 'node:stream'
import { createSecureContext, type SecureContextOptions, TLSSocket } from 'node:tls'
import type { Clock } from '../../lib/clock.ts'

/**
 * The files of mutual TLS, by absolute path: a PFX, or a certificate and its key in PEM; and the PSP's own authority.
 */
export type TlsFiles = {
  pfxFile?: string
  certFile?: string
  keyFile?: string
  caFile?: string
  /**
   * Called at each reading: it may be renewed with the file that it opens. Where it cannot be read, throws an error
   * with a sentence for the operator.
   */
  passphrase?: () => string
}

/**
 * The options for `tls.connect`, and the expiry of the client certificate; null where there is none. `content` has all
 * files and the passphrase as text: it shows whether they have changed.
 */
export type TlsMaterial = { options: SecureContextOptions; expiresAt: Date | null; content: string }

/** A file that cannot be used; the message says what to do. `setting` is the setting's name. */
export class TlsFileError extends Error {
  readonly setting: keyof TlsFiles
  constructor(setting: keyof TlsFiles, message: string) {
    super(message)
    this.name = 'TlsFileError'
    this.setting = setting
  }
}

/**
 * Reads and checks the files: they exist, are readable, open with the passphrase, are a pair and are valid now.
 *
 * @throws {TlsFileError} for the first that fails
 */
export function readTlsMaterial(files: TlsFiles, clock: Clock): TlsMaterial {
  const passphrase = readPassphrase(files)
  const ca = files.caFile === undefined ? undefined : read(files.caFile, 'caFile')
  if (ca) parse(ca, 'caFile', files.caFile)
  const common = { ...(ca && { ca }), ...(passphrase !== undefined && { passphrase }) }
  const own = files.pfxFile === undefined ? readPem(files, passphrase) : readPfx(files.pfxFile, passphrase)
  if (own) checkDates(own.certificate, own.setting, clock.now())
  const options = { ...common, ...own?.options }
  const parts = [options.ca, own?.options.pfx, own?.options.cert, own?.options.key, passphrase]
  const content = parts.map((part) => (Buffer.isBuffer(part) ? part.toString('base64') : part)).join('\n')
  return { options, expiresAt: own ? new Date(own.certificate.validTo) : null, content }
}

type Own = {
  certificate: X509Certificate
  setting: 'pfxFile' | 'certFile'
  options: { pfx?: Buffer; cert?: Buffer; key?: Buffer }
}

function readPassphrase({ passphrase }: TlsFiles): string | undefined {
  try {
    return passphrase?.()
  } catch (error) {
    throw new TlsFileError('passphrase', error instanceof Error ? error.message : String(error))
  }
}

function readPfx(path: string, passphrase: string | undefined): Own {
  const pfx = read(path, 'pfxFile')
  try {
    return {
      certificate: certificateOf({ pfx, ...(passphrase !== undefined && { passphrase }) }),
      setting: 'pfxFile',
      options: { pfx },
    }
  } catch (error) {
    throw new TlsFileError('pfxFile', explainPfx(path, error instanceof Error ? error.message : ''))
  }
}

function explainPfx(path: string, message: string): string {
  if (/mac verify failure/.test(message))
    return `the passphrase does not open ${path}: set tls.passphrase to that of this file`
  if (/unsupported/i.test(message))
    return `${path} is encrypted with an old cipher (RC2 or 3DES) that is not supported any more: write it again with \`openssl pkcs12 -legacy -in old.pfx -nodes -out all.pem\` and \`openssl pkcs12 -export -in all.pem -out new.pfx\``
  return `${path} is not a PFX file (PKCS #12): for PEM files set tls.certFile and tls.keyFile`
}

/** The certificate in a PFX. Node.js reads it only through a TLS socket; no connection is made. */
function certificateOf(options: SecureContextOptions): X509Certificate {
  const nowhere = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() })
  const socket = new TLSSocket(nowhere, { secureContext: createSecureContext(options), isServer: true })
  try {
    const certificate = socket.getX509Certificate()
    if (!certificate) throw new Error('no certificate')
    return certificate
  } finally {
    socket.destroy()
  }
}

function readPem({ certFile, keyFile }: TlsFiles, passphrase: string | undefined): Own | null {
  if (certFile === undefined && keyFile === undefined) return null
  if (certFile === undefined) throw new TlsFileError('certFile', 'is not set, and a key needs its certificate')
  if (keyFile === undefined) throw new TlsFileError('keyFile', 'is not set, and a certificate needs its key')
  const [cert, key] = [read(certFile, 'certFile'), read(keyFile, 'keyFile')]
  const certificate = parse(cert, 'certFile', certFile)
  if (!certificate.checkPrivateKey(openKey(key, keyFile, passphrase)))
    throw new TlsFileError('keyFile', `${keyFile} is not the key of the certificate in ${certFile}`)
  return { certificate, setting: 'certFile', options: { cert, key } }
}

function openKey(key: Buffer, path: string, passphrase: string | undefined) {
  try {
    return createPrivateKey({ key, ...(passphrase !== undefined && { passphrase }) })
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    if (/DECRYPT|MISSING_PASSPHRASE|INTERRUPTED/.test(code))
      throw new TlsFileError('keyFile', `the passphrase does not open ${path}: set tls.passphrase to that of this file`)
    throw new TlsFileError('keyFile', `${path} is not a private key in PEM`)
  }
}

function parse(pem: Buffer, setting: 'certFile' | 'caFile', path: string | undefined): X509Certificate {
  try {
    return new X509Certificate(pem)
  } catch {
    throw new TlsFileError(setting, `${path} is not a certificate in PEM`)
  }
}

function checkDates(certificate: X509Certificate, setting: 'pfxFile' | 'certFile', now: Date): void {
  const [from, to] = [new Date(certificate.validFrom), new Date(certificate.validTo)]
  if (now > to) throw new TlsFileError(setting, `the certificate expired on ${toDay(to)}: get a new one from the PSP`)
  if (now < from)
    throw new TlsFileError(setting, `the certificate is not valid before ${toDay(from)}: is the clock right?`)
}

export function toDay(date: Date): string {
  return date.toISOString().slice(0, 10)
}

function read(path: string, setting: keyof TlsFiles): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : ''
    if (code === 'ENOENT') throw new TlsFileError(setting, `there is no file ${path}`)
    if (code === 'EACCES') throw new TlsFileError(setting, `${path} may not be read by this user`)
    throw new TlsFileError(setting, `${path} cannot be read (${code})`)
  }
}

import { constants, createPublicKey, generateKeyPair, privateEncrypt, randomBytes } from 'node:crypto'
import { isIP } from 'node:net'
import { promisify } from 'node:util'
import forge from 'node-forge'

/** A certificate and its private key, both as PEM. */
export type Identity = { certificate: string; key: string }

export type CertificateInput = {
  commonName: string
  /** The use of the certificate. A PSP shows its own to its clients and to the receivers of its callbacks. */
  use: 'server' | 'client' | 'both'
  /** Names and addresses of the server. */
  hosts?: string[]
  validFrom: Date
  validTo: Date
  /** Its private key. A new one by default: generating it takes a fifth of a second. */
  key?: string
}

// ASCII only: the library encodes other characters of an issuer's name twice.
const organization = 'Guiche simulator'
const passphraseBytes = 15

/** The authority that signs the certificates of one simulated PSP. Another PSP's certificates are foreign to it. */
export async function makeAuthority(
  input: Pick<CertificateInput, 'commonName' | 'validFrom' | 'validTo'>,
): Promise<Identity> {
  const key = await newKey()
  return { key, certificate: sign({ ...input, key, issuer: null, extensions: authorityExtensions }) }
}

/**
 * A key and a certificate that the authority signs. `validTo` may be in the past, for tests of expired certificates.
 */
export async function issueCertificate(authority: Identity, input: CertificateInput): Promise<Identity> {
  const key = input.key ?? (await newKey())
  const extensions = [
    { name: 'basicConstraints', cA: false, critical: true },
    { name: 'keyUsage', digitalSignature: true, keyEncipherment: true, critical: true },
    { name: 'extKeyUsage', serverAuth: input.use !== 'client', clientAuth: input.use !== 'server' },
    ...(input.hosts ? [{ name: 'subjectAltName', altNames: input.hosts.map(toAltName) }] : []),
  ]
  return { key, certificate: sign({ ...input, key, issuer: authority, extensions }) }
}

/** PKCS#12, as PSPs issue certificates: the identity and the authority's certificate, encrypted with a passphrase. */
export function toPfx(
  identity: Identity,
  { authority, passphrase }: { authority: Identity; passphrase: string },
): Buffer {
  const chain = [identity.certificate, authority.certificate].map((pem) => forge.pki.certificateFromPem(pem))
  const key = forge.pki.privateKeyFromPem(identity.key)
  // AES: OpenSSL 3, which Node.js uses, reads the older RC2 and 3DES only on demand.
  const asn1 = forge.pkcs12.toPkcs12Asn1(key, chain, passphrase, { algorithm: 'aes256', friendlyName: 'guiche' })
  return Buffer.from(forge.asn1.toDer(asn1).getBytes(), 'binary')
}

export function newPassphrase(): string {
  return randomBytes(passphraseBytes).toString('base64url')
}

const authorityExtensions = [
  { name: 'basicConstraints', cA: true, pathLenConstraint: 0, critical: true },
  { name: 'keyUsage', keyCertSign: true, cRLSign: true, critical: true },
]

/** RSA, because PSPs issue RSA and PKCS#12 of any age supports it. */
export async function newKey(): Promise<string> {
  const { privateKey } = await promisify(generateKeyPair)('rsa', { modulusLength: 2048 })
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
}

function sign(input: {
  commonName: string
  validFrom: Date
  validTo: Date
  key: string
  /** Null for a self-signed certificate. */
  issuer: Identity | null
  extensions: object[]
}): string {
  const certificate = forge.pki.createCertificate()
  const publicKey = createPublicKey(input.key).export({ type: 'spki', format: 'pem' }).toString()
  certificate.publicKey = forge.pki.publicKeyFromPem(publicKey)
  // The first bit must not be set, so that the serial number is positive.
  certificate.serialNumber = `01${randomBytes(15).toString('hex')}`
  certificate.validity.notBefore = input.validFrom
  certificate.validity.notAfter = input.validTo
  const subject = [
    { shortName: 'O', value: organization },
    { shortName: 'CN', value: input.commonName },
  ]
  certificate.setSubject(subject)
  const issuer = input.issuer && forge.pki.certificateFromPem(input.issuer.certificate)
  certificate.setIssuer(issuer ? issuer.subject.attributes : subject)
  certificate.setExtensions([
    ...input.extensions,
    { name: 'subjectKeyIdentifier' },
    ...(issuer
      ? [{ name: 'authorityKeyIdentifier', keyIdentifier: issuer.generateSubjectKeyIdentifier().getBytes() }]
      : []),
  ])
  certificate.sign(toSigner(input.issuer?.key ?? input.key), forge.md.sha256.create())
  return forge.pki.certificateToPem(certificate)
}

/** What precedes the hash in the signature (RFC 8017, section 9.2). */
const sha256Info = Buffer.from('3031300d060960864801650304020105000420', 'hex')

/** Signs with OpenSSL: the library's own arithmetic takes fifty times as long. */
function toSigner(key: string): forge.pki.rsa.PrivateKey {
  const sign = (hash: forge.md.MessageDigest) =>
    privateEncrypt(
      { key, padding: constants.RSA_PKCS1_PADDING },
      Buffer.concat([sha256Info, Buffer.from(hash.digest().getBytes(), 'binary')]),
    ).toString('binary')
  return { sign } as Pick<forge.pki.rsa.PrivateKey, 'sign'> as forge.pki.rsa.PrivateKey
}

// The types of names in a certificate: 2 is a DNS name, 7 an IP address.
function toAltName(host: string): { type: number; value?: string; ip?: string } {
  return isIP(host) === 0 ? { type: 2, value: host } : { type: 7, ip: host }
}

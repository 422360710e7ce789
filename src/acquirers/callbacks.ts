import { type Static, Type } from 'typebox'

/** `callbacks` of an acquirer in ACQUIRERS_FILE: how the PSP reaches us, and how we recognize it. */
export const CallbackSettings = Type.Object(
  {
    /** False: the address is registered by hand, at the PSP's own site. */
    register: Type.Optional(Type.Boolean()),
    /** The public address at which the PSP reaches us, without a path. Default: BASE_URL. */
    baseUrl: Type.Optional(
      Type.String({
        pattern: '^https?://[^/?#\\s]+$',
        description: 'an address without a path, such as https://callbacks.example.com',
      }),
    ),
    clientCertificate: Type.Optional(
      Type.Object(
        {
          /** The header in which the proxy passes on the certificate that it verified. */
          header: Type.Optional(
            Type.String({ pattern: '^[A-Za-z0-9-]{1,64}$', description: 'the name of a header, such as Client-Cert' }),
          ),
          /** Fingerprints, with or without colons. The certificate must have one of them. */
          sha256: Type.Optional(
            Type.Array(
              Type.String({
                pattern: '^(?:[0-9A-Fa-f]{2}:?){31}[0-9A-Fa-f]{2}$',
                description: 'a SHA-256 fingerprint of 64 hexadecimal digits',
              }),
              { minItems: 1, description: 'a list of fingerprints' },
            ),
          ),
          /** Parts of the subject, such as `CN=psp.example.com`. The certificate's subject must have all of them. */
          subject: Type.Optional(
            Type.Array(
              Type.String({
                pattern: '^[A-Za-z0-9.]+=.',
                description: 'a part of a subject, such as CN=psp.example.com',
              }),
              { minItems: 1, description: 'a list of parts of a subject' },
            ),
          ),
        },
        { additionalProperties: false },
      ),
    ),
    /** Another number gives another address. Increase it when the address has become known to others. */
    version: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, description: 'a whole number from 1 to 1000' })),
    /** True: the address of the previous version is accepted too. Set it for as long as the PSP may use that one. */
    acceptPrevious: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false },
)
export type CallbackSettings = Static<typeof CallbackSettings>

/**
 * The certificate that a call must have, beyond the secret address. Empty lists: any certificate that the proxy
 * verified.
 */
export type ClientCertificateRule = { header: string; sha256: string[]; subject: string[] }

/** How callbacks of an acquirer are accepted. */
export type CallbackAccess = {
  version: number
  acceptPrevious: boolean
  /** Null: the secret address is enough, since every callback is checked with the acquirer. */
  clientCertificate: ClientCertificateRule | null
}

/** RFC 9440. */
const headerDefault = 'client-cert'

export function toCallbackAccess({
  version,
  acceptPrevious,
  clientCertificate,
}: CallbackSettings = {}): CallbackAccess {
  return {
    version: version ?? 1,
    acceptPrevious: acceptPrevious ?? false,
    clientCertificate: clientCertificate
      ? {
          header: (clientCertificate.header ?? headerDefault).toLowerCase(),
          sha256: (clientCertificate.sha256 ?? []).map((one) => one.replaceAll(':', '').toLowerCase()),
          subject: clientCertificate.subject ?? [],
        }
      : null,
  }
}

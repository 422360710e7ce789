import { type Static, Type } from 'typebox'

/** `callbacks` of an acquirer in ACQUIRERS_FILE: how the PSP reaches us, and by what we know it. */
export const CallbackSettings = Type.Object(
  {
    /** False: the address is registered by hand, at the PSP's own site. */
    register: Type.Optional(Type.Boolean()),
    /** Where the PSP reaches us from outside, without a path. Default: BASE_URL. */
    baseUrl: Type.Optional(
      Type.String({
        pattern: '^https?://[^/?#\\s]+$',
        description: 'an address without a path, such as https://callbacks.example.com',
      }),
    ),
    clientCertificate: Type.Optional(
      Type.Object(
        {
          /** In which the proxy passes on the certificate that it verified. */
          header: Type.Optional(
            Type.String({ pattern: '^[A-Za-z0-9-]{1,64}$', description: 'the name of a header, such as Client-Cert' }),
          ),
          /** Fingerprints, with or without colons. One of them must be the certificate's. */
          sha256: Type.Optional(
            Type.Array(
              Type.String({
                pattern: '^(?:[0-9A-Fa-f]{2}:?){31}[0-9A-Fa-f]{2}$',
                description: 'a SHA-256 fingerprint of 64 hexadecimal digits',
              }),
              { minItems: 1, description: 'a list of fingerprints' },
            ),
          ),
          /** Parts of the subject, such as `CN=psp.example.com`. All of them must be in the certificate's. */
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
    /** Of the address: another number is another address, when the former one became known. */
    version: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, description: 'a whole number from 1 to 1000' })),
    /** True: calls to the address of the version before are taken too, until the PSP uses the new one. */
    acceptPrevious: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false },
)
export type CallbackSettings = Static<typeof CallbackSettings>

/** What a call must show beside the address. Empty lists: any certificate that the proxy verified. */
export type ClientCertificateRule = { header: string; sha256: string[]; subject: string[] }

/** The door for an acquirer's callbacks. */
export type CallbackDoor = {
  version: number
  acceptPrevious: boolean
  /** Null: the address and a read back are enough. */
  clientCertificate: ClientCertificateRule | null
}

/** RFC 9440. */
const headerDefault = 'client-cert'

export function toCallbackDoor({ version, acceptPrevious, clientCertificate }: CallbackSettings = {}): CallbackDoor {
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

import { readFile } from 'node:fs/promises'
import { rootCertificates } from 'node:tls'
import { Agent, request } from 'undici'
import type { Identity } from '../../simulator/certificates.ts'
import type { SendCallback } from '../../simulator/network.ts'

const callbackTimeoutMs = 10_000

/**
 * Posts callbacks as a PSP does. If the receiver asks for a certificate, it presents its own, except with an anonymous
 * callback. It always verifies the receiver's certificate.
 */
export async function createCallbackSender({
  identity,
  caFile,
}: {
  identity: Identity | null
  caFile: string | undefined
}): Promise<{ send: SendCallback; close(): Promise<void> }> {
  const ca = caFile === undefined ? null : [...rootCertificates, await readFile(caFile, 'utf8')]
  const connect = ca === null ? {} : { ca }
  const anonymous = new Agent({ connect })
  const known = identity
    ? new Agent({ connect: { ...connect, cert: identity.certificate, key: identity.key } })
    : anonymous
  return {
    async send(url, body, { isAnonymous } = { isAnonymous: false }) {
      const answer = await request(url, {
        method: 'POST',
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json' },
        signal: AbortSignal.timeout(callbackTimeoutMs),
        dispatcher: isAnonymous ? anonymous : known,
      })
      await answer.body.dump()
      return answer.statusCode
    },
    async close() {
      await Promise.all([anonymous.destroy(), known.destroy()])
    },
  }
}

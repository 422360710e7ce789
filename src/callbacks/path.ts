import { timingSafeEqual } from 'node:crypto'
import type { CallbackAccess } from '../acquirers/callbacks.ts'
import { keyedHashes, type SecretKey } from '../lib/secrets.ts'

/** The address of an acquirer's callbacks, with a part that nobody can guess. The acquirer appends `/pix`. */
export function callbackPath(key: SecretKey, acquirer: string, version = 1): string {
  return `/callbacks/${acquirer}/${callbackSecrets(key, acquirer, version)[0]}`
}

export function isCallbackSecret(
  key: SecretKey,
  acquirer: { name: string; callbacks: Pick<CallbackAccess, 'version' | 'acceptPrevious'> },
  secret: string,
): boolean {
  const { version, acceptPrevious } = acquirer.callbacks
  const versions = acceptPrevious && version > 1 ? [version, version - 1] : [version]
  return versions.some((one) => callbackSecrets(key, acquirer.name, one).some((known) => isEqual(known, secret)))
}

function isEqual(expected: string, received: string): boolean {
  const [one, other] = [Buffer.from(expected), Buffer.from(received)]
  return one.length === other.length && timingSafeEqual(one, other)
}

/**
 * The secret parts made with the current and each former secret key: the acquirer calls the address that was
 * registered with it. Acquirer names contain no space.
 */
function callbackSecrets(key: SecretKey, acquirer: string, version: number): [string, ...string[]] {
  const [current, ...former] = keyedHashes(key, 'callback-path', `${acquirer} ${version}`)
  return [current.toString('base64url'), ...former.map((hash) => hash.toString('base64url'))]
}

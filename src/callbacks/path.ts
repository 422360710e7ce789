import { timingSafeEqual } from 'node:crypto'
import type { CallbackDoor } from '../acquirers/callbacks.ts'
import { keyedHash, type SecretKey } from '../lib/secrets.ts'

/** The address of an acquirer's callbacks, with a part that nobody can guess. The acquirer appends `/pix`. */
export function callbackPath(key: SecretKey, acquirer: string, version = 1): string {
  return `/callbacks/${acquirer}/${callbackSecret(key, acquirer, version)}`
}

export function isCallbackSecret(
  key: SecretKey,
  acquirer: { name: string; callbacks: Pick<CallbackDoor, 'version' | 'acceptPrevious'> },
  secret: string,
): boolean {
  const { version, acceptPrevious } = acquirer.callbacks
  const versions = acceptPrevious && version > 1 ? [version, version - 1] : [version]
  return versions.some((one) => isEqual(callbackSecret(key, acquirer.name, one), secret))
}

function isEqual(expected: string, given: string): boolean {
  const [one, other] = [Buffer.from(expected), Buffer.from(given)]
  return one.length === other.length && timingSafeEqual(one, other)
}

/** The first version's is what it was before there were versions. No name holds a space. */
function callbackSecret(key: SecretKey, acquirer: string, version: number): string {
  const text = version === 1 ? acquirer : `${acquirer} ${version}`
  return keyedHash(key, 'callback-path', text).toString('base64url')
}

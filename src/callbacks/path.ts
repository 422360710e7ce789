import { timingSafeEqual } from 'node:crypto'
import type { CallbackAccess } from '../acquirers/callbacks.ts'
import { type Cell, callbackPrefix } from '../lib/cell.ts'
import { keyedHashes, type SecretKey } from '../lib/secrets.ts'

/**
 * The address of an acquirer's callbacks, with a part that nobody can guess, after the name of the cell. The acquirer
 * appends `/pix`.
 */
export function callbackPath(
  key: SecretKey,
  acquirer: string,
  { version = 1, cell = null }: { version?: number; cell?: Cell | null } = {},
): string {
  return `/callbacks/${acquirer}/${callbackPrefix(cell)}${callbackSecrets(key, acquirer, version)[0]}`
}

export function isCallbackSecret(
  key: SecretKey,
  acquirer: { name: string; callbacks: Pick<CallbackAccess, 'version' | 'acceptPrevious'> },
  secret: string,
): boolean {
  const { version, acceptPrevious } = acquirer.callbacks
  // The name of the cell is only for the proxy. An address that was registered before cells has none.
  const own = secret.slice(secret.indexOf('.') + 1)
  const versions = acceptPrevious && version > 1 ? [version, version - 1] : [version]
  return versions.some((one) => callbackSecrets(key, acquirer.name, one).some((known) => isEqual(known, own)))
}

function isEqual(expected: string, received: string): boolean {
  const [one, other] = [Buffer.from(expected), Buffer.from(received)]
  return one.length === other.length && timingSafeEqual(one, other)
}

/**
 * The secret parts made with the current and each former secret key: an acquirer may still call an address made with a
 * former one. Acquirer names contain no space.
 */
function callbackSecrets(key: SecretKey, acquirer: string, version: number): [string, ...string[]] {
  const [current, ...former] = keyedHashes(key, 'callback-path', `${acquirer} ${version}`)
  return [current.toString('base64url'), ...former.map((hash) => hash.toString('base64url'))]
}

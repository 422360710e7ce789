import type { Db, Tx } from '../db/sql.ts'
import { assert } from '../lib/assert.ts'
import { keyedHash, newSecretKey, parseSecretKey, type SecretKey, seal, unseal } from '../lib/secrets.ts'
import * as store from './store.ts'

const generatedKey = 'secret_key'
const keyCheck = 'secret_key_check'
const formerKeys = 'former_secret_keys'

/**
 * The key that encrypts secrets: the configured one, or one generated at the first start and stored in the database
 * next to the secrets. That is fine on a laptop; in production a copy of the database alone should give no credentials.
 * Includes its former keys, which are stored encrypted under it.
 * @throws {Error} if the database was set up with another key, because its secrets could not be read
 */
export async function loadSecretKey(
  db: Db,
  configured: SecretKey | null,
): Promise<{ key: SecretKey; isGenerated: boolean }> {
  const key = configured ?? (await loadGeneratedKey(db))
  const check = toCheck(key)
  await store.insertSetting(db, keyCheck, check)
  if ((await store.findSetting(db, keyCheck)) !== check)
    throw new Error(await describeMismatch(db, configured !== null))
  return { key: await withFormer(db, key), isGenerated: configured === null }
}

/**
 * Replaces the key of the database by the configured one. The key until now must be SECRET_KEY_PREVIOUS, or the
 * generated one that the database keeps. All encrypted values are encrypted again, in one commit. Hashes of what others
 * keep (client secrets, addresses of callbacks and payment pages) stay valid: the former key is kept, encrypted under
 * the new one. True if a key was replaced.
 */
export async function replaceSecretKey(
  db: Db,
  { configured, previous }: { configured: SecretKey | null; previous: SecretKey | null },
): Promise<boolean> {
  if (configured === null) return false
  return await db.transaction(async (tx) => {
    // Of several processes at the same start one replaces it, and the others find that it is done.
    const check = await store.lockSetting(tx, keyCheck)
    if (check === null || check === toCheck(configured)) return false
    const generated = await store.findSetting(tx, generatedKey)
    const candidates = [previous, generated === null ? null : parseSecretKey(generated)]
    const replaced = candidates.find((one) => one !== null && toCheck(one) === check)
    if (!replaced) return false
    const former = await withFormer(tx, replaced)
    for (const column of store.sealedColumns) {
      for (const { place, sealed } of await store.lockSealed(tx, column)) {
        const value = unseal(former, column.purpose, sealed)
        await store.updateSealed(tx, column, { place, sealed: seal(configured, column.purpose, value) })
      }
    }
    const keys = [former.current, ...former.former].map((one) => one.toString('base64url'))
    const sealedKeys = seal(configured, 'former-keys', JSON.stringify(keys))
    await store.saveSetting(tx, formerKeys, sealedKeys.toString('base64url'))
    await store.saveSetting(tx, keyCheck, toCheck(configured))
    await store.deleteSetting(tx, generatedKey)
    return true
  })
}

function toCheck(key: SecretKey): string {
  return keyedHash(key, 'key-check', 'guiche').toString('base64url')
}

async function withFormer(db: Db | Tx, key: SecretKey): Promise<SecretKey> {
  const sealed = await store.findSetting(db, formerKeys)
  if (sealed === null) return key
  const keys: string[] = JSON.parse(unseal(key, 'former-keys', Buffer.from(sealed, 'base64url')))
  return { current: key.current, former: keys.map((text) => Buffer.from(text, 'base64url')) }
}

async function describeMismatch(db: Db, isConfigured: boolean): Promise<string> {
  if (!isConfigured) return 'This database was set up with a SECRET_KEY, which is not set now. Set it again.'
  if ((await store.findSetting(db, generatedKey)) !== null) {
    return 'SECRET_KEY is set, but this database still keeps its secrets under a generated key. Start the service once with SECRET_KEY: it moves them to that key.'
  }
  return 'SECRET_KEY is not the one that this database was set up with. To replace the key, set SECRET_KEY_PREVIOUS to the former one and start the service. Otherwise set the former one again: without it client secrets, webhook secrets and signing keys cannot be used.'
}

async function loadGeneratedKey(db: Db): Promise<SecretKey> {
  // Of several processes at their first start, one wins, and all read what it wrote.
  if ((await store.findSetting(db, keyCheck)) === null) await store.insertSetting(db, generatedKey, newSecretKey())
  const text = (await store.findSetting(db, generatedKey)) ?? newSecretKey()
  const key = parseSecretKey(text)
  assert(key, 'a generated key can be read')
  return key
}

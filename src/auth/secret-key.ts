import type { Db } from '../db/sql.ts'
import { assert } from '../lib/assert.ts'
import { keyedHash, newSecretKey, parseSecretKey, type SecretKey } from '../lib/secrets.ts'
import { findSetting, insertSetting } from './store.ts'

const generatedKey = 'secret_key'
const keyCheck = 'secret_key_check'

/**
 * The key that secrets are kept under: that of the configuration, or one generated at the first start and kept in the database
 * beside what it protects. Good for a laptop; in production a copy of the database alone should give no credentials.
 *
 * @throws {Error} when the database was set up under another key: its secrets could not be read
 */
export async function loadSecretKey(
  db: Db,
  configured: SecretKey | null,
): Promise<{ key: SecretKey; isGenerated: boolean }> {
  const key = configured ?? (await loadGeneratedKey(db))
  const check = keyedHash(key, 'key-check', 'guiche').toString('base64url')
  await insertSetting(db, keyCheck, check)
  if ((await findSetting(db, keyCheck)) === check) return { key, isGenerated: configured === null }
  throw new Error(await describeMismatch(db, configured !== null))
}

async function describeMismatch(db: Db, isConfigured: boolean): Promise<string> {
  if (!isConfigured) return 'This database was set up with a SECRET_KEY, which is not set now. Set it again.'
  if ((await findSetting(db, generatedKey)) !== null) {
    return "SECRET_KEY is set, but this database was set up without one and keeps what is in it under a generated key. Unset SECRET_KEY, or set it to that key: select value from settings where name = 'secret_key'."
  }
  return 'SECRET_KEY is not the one that this database was set up with. Set the former one again: without it client secrets, webhook secrets and signing keys cannot be used.'
}

async function loadGeneratedKey(db: Db): Promise<SecretKey> {
  // Of several processes at their first start, one wins, and all read what it wrote.
  if ((await findSetting(db, keyCheck)) === null) await insertSetting(db, generatedKey, newSecretKey())
  const text = (await findSetting(db, generatedKey)) ?? newSecretKey()
  const key = parseSecretKey(text)
  assert(key, 'a generated key can be read')
  return key
}

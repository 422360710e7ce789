import { type CryptoKey, calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK, type JWK } from 'jose'
import { type By, recordAction } from '../audit/record.ts'
import type { Db } from '../db/sql.ts'
import { assert } from '../lib/assert.ts'
import { type Cell, keyIdPrefix } from '../lib/cell.ts'
import type { Clock } from '../lib/clock.ts'
import { type SecretKey, seal, unseal } from '../lib/secrets.ts'
import { findCell } from './cell.ts'
import * as store from './store.ts'

/** The one algorithm that tokens are signed with, and the only one that is accepted. */
export const algorithm = 'ES256'

/** How long a key signs before the next one is made. */
const signsForMs = 90 * 24 * 60 * 60 * 1000
/** How long a former key still verifies: longer than any token lives (TOKEN_LIFETIME_SECONDS is at most a day). */
const overlapMs = 2 * 24 * 60 * 60 * 1000
/**
 * Maximum age of this process's copy of the key table. A token whose key is not in the copy causes a reload, but at
 * most one in `reloadPauseMs`.
 */
const copyAgeMaxMs = 60_000
/** Tokens with made-up key ids must not cause a query each. */
const reloadPauseMs = 500

type Key = { kid: string; publicJwk: JWK; publicKey: CryptoKey; privateKey: CryptoKey; createdAt: Date }

type Signing = Pick<Key, 'kid' | 'createdAt'>

export type KeyRing = {
  /**
   * The newest key. A new one is made first if there is none, if the newest has signed for 90 days, or if its id does
   * not begin with the name of this installation's cell (lib/cell.ts).
   */
  signingKey(): Promise<Key>
  /**
   * Null if the key is unknown or no longer verifies. A key that no longer verifies may still be found for
   * `copyAgeMaxMs`. A key that another process has just made may be unknown here for about `reloadPauseMs`.
   */
  findKey(kid: string): Promise<Key | null>
  /** What `/.well-known/jwks.json` shows. */
  publicKeys(): Promise<JWK[]>
  /** Makes the next key now; the former ones verify for the overlap. */
  rotate(by: By): Promise<string>
}

export function createKeyRing(deps: { db: Db; clock: Clock; key: SecretKey }): KeyRing {
  const { db, clock } = deps
  let keys: Key[] = []
  let cell: Cell | null = null
  let loadedAt = Number.NEGATIVE_INFINITY
  let loading: Promise<void> | null = null
  let rotating: Promise<void> | null = null

  async function load(): Promise<void> {
    loading ??= (async () => {
      const rows = await store.listSigningKeys(db, clock.now())
      cell = await findCell(db)
      const known = new Map(keys.map((key) => [key.kid, key]))
      keys = await Promise.all(rows.map(async (row) => known.get(row.kid) ?? (await openKey(deps.key, row))))
      loadedAt = performance.now()
    })().finally(() => {
      loading = null
    })
    await loading
  }

  async function freshKeys(ageMaxMs: number): Promise<Key[]> {
    if (performance.now() - loadedAt > ageMaxMs) await load()
    return keys
  }

  async function rotate(
    isDue: (newest: Signing | undefined, cell: Cell | null) => boolean,
    by: By | null,
  ): Promise<void> {
    await db.transaction(async (tx) => {
      await store.lockSigningKeys(tx)
      const now = clock.now()
      const [newest] = await store.listSigningKeys(tx, now)
      const ownCell = await findCell(tx)
      if (!isDue(newest && { kid: newest.kid, createdAt: newest.created_at }, ownCell)) return
      await store.retireSigningKeys(tx, new Date(now.getTime() + overlapMs))
      await store.insertSigningKey(tx, await makeKey(deps.key, ownCell, now))
      await recordAction(tx, { by, action: 'rotate-signing-key', now })
    })
    // A read that began before the commit lacks the new key.
    await loading?.catch(() => {})
    await load()
  }

  // The id of a key that was made before CELL was set does not begin with the cell: a proxy cannot route its tokens.
  const isDue = (key: Signing | undefined, ownCell: Cell | null) =>
    !key || clock.now().getTime() - key.createdAt.getTime() >= signsForMs || !key.kid.startsWith(keyIdPrefix(ownCell))

  return {
    async signingKey() {
      const [newest] = await freshKeys(copyAgeMaxMs)
      if (newest && !isDue(newest, cell)) return newest
      // All callers wait for one rotation: otherwise each would hold a connection while waiting for the same lock.
      rotating ??= rotate(isDue, null).finally(() => {
        rotating = null
      })
      await rotating
      const [rotated] = keys
      assert(rotated, 'there is a signing key after one was made')
      return rotated
    },
    async findKey(kid) {
      const find = (all: Key[]) => all.find((key) => key.kid === kid) ?? null
      return find(await freshKeys(copyAgeMaxMs)) ?? find(await freshKeys(reloadPauseMs))
    },
    async publicKeys() {
      return (await freshKeys(reloadPauseMs)).map((key) => key.publicJwk)
    },
    async rotate(by) {
      await rotate(() => true, by)
      const [newest] = keys
      assert(newest, 'there is a signing key after one was made')
      return newest.kid
    },
  }
}

async function makeKey(secretKey: SecretKey, cell: Cell | null, now: Date): Promise<store.SigningKeyRow> {
  const { publicKey, privateKey } = await generateKeyPair(algorithm, { extractable: true })
  const publicJwk = await exportJWK(publicKey)
  const kid = keyIdPrefix(cell) + (await calculateJwkThumbprint(publicJwk))
  return {
    kid,
    public_jwk: { ...publicJwk, kid, alg: algorithm, use: 'sig' },
    sealed_private_jwk: seal(secretKey, 'signing-key', JSON.stringify(await exportJWK(privateKey))),
    created_at: now,
  }
}

async function openKey(secretKey: SecretKey, row: store.SigningKeyRow): Promise<Key> {
  const privateKey = await importJWK(JSON.parse(unseal(secretKey, 'signing-key', row.sealed_private_jwk)), algorithm)
  const publicKey = await importJWK(row.public_jwk, algorithm)
  assert(
    !(privateKey instanceof Uint8Array) && !(publicKey instanceof Uint8Array),
    'a signing key is an asymmetric one',
  )
  return { kid: row.kid, publicJwk: row.public_jwk, publicKey, privateKey, createdAt: row.created_at }
}

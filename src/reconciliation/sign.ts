import {
  CompactSign,
  type CryptoKey,
  calculateJwkThumbprint,
  compactVerify,
  errors,
  exportJWK,
  generateKeyPair,
  importJWK,
  type JWK,
} from 'jose'
import type { Db, Tx } from '../db/sql.ts'
import { assert } from '../lib/assert.ts'
import type { Clock } from '../lib/clock.ts'
import { canonicalJson } from '../lib/json.ts'
import { type SecretKey, seal, unseal } from '../lib/secrets.ts'
import { insertStatementKey, listStatementKeys, lockStatementKeys } from './close-store.ts'

/**
 * ECDSA on P-256, as for access tokens. Statements and tokens have different keys, so that neither can pass for the
 * other.
 */
const algorithm = 'ES256'
/** `typ` in the JWS header. The document of a move has it too, and verification does not check it. */
const type = 'guiche-day-statement'

type Deps = { clock: Clock; key: SecretKey }

/**
 * Signs the canonical JSON of a statement, or of the document that carries a merchant's balance to another cell
 * (docs/scaling.md#moving-a-merchant), as a compact JWS with the newest key. The first key is created when it is
 * needed.
 */
export async function signStatement(tx: Tx, deps: Deps, statement: object): Promise<string> {
  const { kid, privateKey } = await findSigningKey(tx, deps)
  return await new CompactSign(Buffer.from(canonicalJson(statement)))
    .setProtectedHeader({ alg: algorithm, typ: type, kid })
    .sign(privateKey)
}

/** The public keys that verify statements: all keys that ever signed, as a JSON Web Key Set. */
export async function publicStatementKeys(db: Db | Tx): Promise<{ keys: JWK[] }> {
  return { keys: (await listStatementKeys(db)).map(({ public_jwk: jwk }) => jwk) }
}

/**
 * Verifies a signed statement with public keys alone, without the service, and returns its content.
 *
 * @throws when none of these keys signed it, or when it was changed since
 */
export async function verifyStatement(jws: string, { keys }: { keys: JWK[] }): Promise<Record<string, unknown>> {
  try {
    const { payload } = await compactVerify(
      jws.trim(),
      async ({ kid }) => {
        const jwk = keys.find((one) => one.kid === kid)
        if (!jwk)
          throw new Error(`The file was signed with the key ${kid ?? '(none)'}, which is not among the given keys.`)
        return await importJWK(jwk, algorithm)
      },
      { algorithms: [algorithm] },
    )
    return JSON.parse(Buffer.from(payload).toString('utf8'))
  } catch (error) {
    if (error instanceof errors.JOSEError)
      throw new Error(
        `The signature is not valid (${error.message}): the file was changed after it was signed, or never signed.`,
        {
          cause: error,
        },
      )
    throw error
  }
}

async function findSigningKey(tx: Tx, { clock, key }: Deps): Promise<{ kid: string; privateKey: CryptoKey }> {
  await lockStatementKeys(tx)
  const [newest] = await listStatementKeys(tx)
  if (newest) {
    const jwk: JWK = JSON.parse(unseal(key, 'statement-key', newest.sealed_private_jwk))
    const privateKey = await importJWK(jwk, algorithm)
    assert(!(privateKey instanceof Uint8Array), 'a key for statements is asymmetric')
    return { kid: newest.kid, privateKey }
  }
  const { publicKey, privateKey } = await generateKeyPair(algorithm, { extractable: true })
  const jwk = await exportJWK(publicKey)
  const kid = await calculateJwkThumbprint(jwk)
  await insertStatementKey(tx, {
    kid,
    public_jwk: { ...jwk, kid, alg: algorithm, use: 'sig' },
    sealed_private_jwk: seal(key, 'statement-key', JSON.stringify(await exportJWK(privateKey))),
    created_at: clock.now(),
  })
  return { kid, privateKey }
}

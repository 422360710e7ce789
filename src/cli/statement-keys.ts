import { readFileSync } from 'node:fs'
import type { JWK } from 'jose'

/** Reads a file of public keys: what `guiche close keys` prints. */
export function readStatementKeys(path: string): { keys: JWK[] } {
  const text = readFileSync(path, 'utf8')
  const wrong = `${path} is not a JSON Web Key Set: it must have what \`npx guiche close keys\` prints.`
  let keys: unknown
  try {
    keys = Object(JSON.parse(text)).keys
  } catch (cause) {
    throw new Error(wrong, { cause })
  }
  if (!Array.isArray(keys)) throw new Error(wrong)
  return { keys: keys.map((key) => Object(key)) }
}

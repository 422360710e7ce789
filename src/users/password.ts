import type { Options } from '@node-rs/argon2'
import { AppError, type FieldError } from '../lib/errors.ts'
import { isCommonPassword } from './common-password.ts'

/**
 * argon2id, the library's default, with the parameters that OWASP recommends: 19 MiB, two passes, one lane. About 12
 * ms of a core.
 */
const parameters = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } satisfies Options
/** Loaded at the first sign-in. */
const argon2 = async () => await import('@node-rs/argon2')
/** Hashes computed at the same time: they use one core, and payments have the others. */
const atOnceMax = 1
/**
 * If this many wait in one of the two queues, its further callers are refused for the moment. That many hashes take
 * about 0.8 s.
 */
const waitingMax = 64

export const passwordLengthMin = 12
export const passwordLengthMax = 256

/**
 * A hash that matches no password: refusing an unknown person takes as long as refusing a wrong password. Salt and hash
 * are zeros, because a real hash would take 19 MiB at every start.
 */
export const nobodysHash = `$argon2id$v=19$m=${parameters.memoryCost},t=${parameters.timeCost},p=${parameters.parallelism}$${zeros(16)}$${zeros(32)}`

let running = 0
const waiting: (() => void)[] = []
/** These are served first. */
const urgent: (() => void)[] = []

/** @throws {AppError} `overloaded` when too many sign in at once */
export async function hashPassword(password: string): Promise<string> {
  return await inTurn(async () => await (await argon2()).hash(password, parameters))
}

/**
 * @param known the user's hash; null if there is no such user
 * @param isUrgent true if the user has signed in from there before: served first, so that a flood from elsewhere
 *   keeps nobody out
 * @throws {AppError} `overloaded` when too many sign in at once
 */
export async function isPassword(
  known: string | null,
  password: string,
  { isUrgent = false }: { isUrgent?: boolean } = {},
): Promise<boolean> {
  const verify = async () => (await (await argon2()).verify(known ?? nobodysHash, password)) && known !== null
  return await inTurn(verify, isUrgent ? urgent : waiting)
}

/**
 * Checks a new password. What counts is its length (NIST SP 800-63B), unless it is one that is guessed early.
 *
 * @param own names that a guesser knows, of the person and the merchant
 */
export function findPasswordFault(
  password: string,
  { email, own = [] }: { email: string; own?: (string | null)[] },
): FieldError | null {
  const length = Array.from(password).length
  if (length < passwordLengthMin || length > passwordLengthMax) {
    const message = `A password has ${passwordLengthMin} to ${passwordLengthMax} characters.`
    const limit = length < passwordLengthMin ? passwordLengthMin : passwordLengthMax
    return { field: 'password', code: 'length', message, limit }
  }
  const known = ['guiche', 'guichê', ...[email, ...own].flatMap((text) => text?.split(/[^\p{L}\p{N}]+/u) ?? [])]
  const [name = ''] = email.toLowerCase().split('@')
  const containsName = name.length > 3 && password.toLowerCase().includes(name)
  if (!containsName && !isCommonPassword(password, known)) return null
  return {
    field: 'password',
    code: 'too_easy',
    message:
      'This password is easy to guess. Use a sentence of your own, without names, common words alone, or rows of keys.',
  }
}

function zeros(bytes: number): string {
  return Buffer.alloc(bytes).toString('base64').replaceAll('=', '')
}

async function inTurn<Result>(work: () => Promise<Result>, queue = waiting): Promise<Result> {
  if (running >= atOnceMax) {
    if (queue.length >= waitingMax) {
      throw new AppError('overloaded', {
        detail: 'Too many people sign in at this moment. Wait a few seconds and try again.',
        headers: { 'retry-after': '5' },
      })
    }
    await new Promise<void>((resolve) => queue.push(resolve))
  } else running += 1
  try {
    return await work()
  } finally {
    const next = urgent.shift() ?? waiting.shift()
    if (next) next()
    else running -= 1
  }
}

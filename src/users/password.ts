import type { Options } from '@node-rs/argon2'
import { AppError, type FieldError } from '../lib/errors.ts'

/** argon2id, which is the library's own choice of algorithm, as OWASP has it: 19 MiB, two passes, one lane. Some 12 ms of a core. */
const parameters = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } satisfies Options
/** Loaded when somebody signs in. */
const argon2 = async () => await import('@node-rs/argon2')
/** Hashes at once: payments need the other core. */
const atOnceMax = 1
/** Who comes when so many wait is told to come back: a queue of a second. */
const waitingMax = 64

export const passwordLengthMin = 12
export const passwordLengthMax = 256

/**
 * What nobody's password hashes to: an unknown person takes as long to refuse as a wrong password. Salt and hash are zeros, since making a
 * true one takes 19 MiB at every start.
 */
export const nobodysHash = `$argon2id$v=19$m=${parameters.memoryCost},t=${parameters.timeCost},p=${parameters.parallelism}$${zeros(16)}$${zeros(32)}`

let running = 0
const waiting: (() => void)[] = []

/** @throws {AppError} `overloaded` when too many sign in at once */
export async function hashPassword(password: string): Promise<string> {
  return await inTurn(async () => await (await argon2()).hash(password, parameters))
}

/**
 * @param known the hash of the person; null when there is no such person
 * @throws {AppError} `overloaded` when too many sign in at once
 */
export async function isPassword(known: string | null, password: string): Promise<boolean> {
  return await inTurn(async () => (await (await argon2()).verify(known ?? nobodysHash, password)) && known !== null)
}

/** What is wrong with a new password. Long is what counts (NIST SP 800-63B); what contains one's own address is no secret. */
export function findPasswordFault(field: string, password: string, email: string): FieldError | null {
  const length = Array.from(password).length
  if (length < passwordLengthMin || length > passwordLengthMax) {
    const message = `A password has ${passwordLengthMin} to ${passwordLengthMax} characters.`
    return { field, code: 'length', message }
  }
  const [name = ''] = email.toLowerCase().split('@')
  const isEasy = new Set(password).size < 5 || (name.length > 3 && password.toLowerCase().includes(name))
  if (!isEasy) return null
  return {
    field,
    code: 'too_easy',
    message: 'A password contains no e-mail address and more than four different characters.',
  }
}

function zeros(bytes: number): string {
  return Buffer.alloc(bytes).toString('base64').replaceAll('=', '')
}

async function inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
  if (running >= atOnceMax) {
    if (waiting.length >= waitingMax) {
      throw new AppError('overloaded', {
        detail: 'Too many people sign in at this moment. Wait a few seconds and try again.',
        headers: { 'retry-after': '5' },
      })
    }
    await new Promise<void>((resolve) => waiting.push(resolve))
  } else running += 1
  try {
    return await work()
  } finally {
    const next = waiting.shift()
    if (next) next()
    else running -= 1
  }
}

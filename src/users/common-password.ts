import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { packageFolder } from '../db/migrate.ts'

/**
 * Estimates how early a guesser would try a password. Guessers begin with words of common passwords (also in leet), a
 * number or a punctuation mark behind them, rows of neighbouring keys, and repetitions. The password is split into
 * the cheapest parts: a known word counts two, any other predictable part one, and each unpredictable character one.
 * Below this sum a list of a few million guesses contains the password.
 */
const partsMin = 6
const wordWeight = 2
const wordLengthMin = 4
const wordLengthMax = 20
/** Rows of keys and of the alphabet, read in both directions. */
const rows = [
  '01234567890',
  'abcdefghijklmnopqrstuvwxyz',
  'qwertyuiop',
  'asdfghjklç',
  'zxcvbnm',
  '1qaz2wsx3edc4rfv5tgb',
  'qazwsxedcrfvtgb',
]
const runs = rows.flatMap((row) => [row, Array.from(row).reverse().join('')])
const leet: Record<string, string> = {
  '0': 'o',
  '1': 'i',
  '3': 'e',
  '4': 'a',
  '5': 's',
  '7': 't',
  '@': 'a',
  $: 's',
  '!': 'i',
}

let common: Set<string> | null = null
let leaked: Set<number> | null = null

/** Bytes kept of each hash. With this many, one password in 25 million is refused by mistake. */
const leakedHashBytes = 5

/** @param own words that a guesser knows about this person and this service: they count as one character */
export function isCommonPassword(password: string, own: readonly string[]): boolean {
  return isLeakedPassword(password) || isMadeOfCommonParts(password, own)
}

/**
 * Whether it is among the million most common leaked passwords ("10 million password list", in SecLists, MIT). The
 * file has the 44,000 of at least 12 characters: the first bytes of the SHA-256 of each, in lower case, so that it
 * reveals nobody's password.
 */
function isLeakedPassword(password: string): boolean {
  leaked ??= readLeaked()
  return leaked.has(toLeakedHash(createHash('sha256').update(password.normalize('NFKC').toLowerCase()).digest()))
}

function readLeaked(): Set<number> {
  const bytes = readFileSync(`${packageFolder()}/src/users/leaked-passwords.bin`)
  const hashes = new Set<number>()
  for (let at = 0; at < bytes.length; at += leakedHashBytes) hashes.add(toLeakedHash(bytes.subarray(at)))
  return hashes
}

function toLeakedHash(bytes: Buffer): number {
  return bytes.readUIntBE(0, leakedHashBytes)
}

function isMadeOfCommonParts(password: string, own: readonly string[]): boolean {
  // Longer passwords are cut: they are not common ones, and the work grows with the square of the length.
  const text = password.normalize('NFKC').toLowerCase().slice(0, 64)
  return (
    countParts(
      text,
      own.map((word) => word.toLowerCase()).filter(({ length }) => length >= wordLengthMin),
    ) < partsMin
  )
}

function countParts(text: string, own: readonly string[]): number {
  const block = findBlock(text)
  if (block !== null) return countParts(block, own) + 1
  const words = loadWords()
  const letters = Array.from(text, (character) => leet[character] ?? character).join('')
  const lengthMax = Math.max(wordLengthMax, ...own.map(({ length }) => length))
  const least = [0]
  for (let end = 1; end <= text.length; end++) {
    let best = (least[end - 1] ?? 0) + 1
    for (let start = Math.max(0, end - lengthMax); start < end - 1; start++) {
      const weight = weigh(text.slice(start, end), letters.slice(start, end), own, words)
      if (weight !== null) best = Math.min(best, (least[start] ?? 0) + weight)
    }
    least.push(best)
  }
  return least[text.length] ?? 0
}

/** What a predictable part counts; null if nothing predicts it. */
function weigh(part: string, letters: string, own: readonly string[], words: Set<string>): number | null {
  if (new Set(part).size === 1) return 1
  if (part.length < 3) return null
  if (runs.some((run) => run.includes(part)) || /^(19|20)\d\d$/.test(part)) return 1
  if (own.includes(part) || own.includes(letters)) return 1
  if (part.length >= wordLengthMin && (words.has(part) || words.has(letters))) return wordWeight
  return null
}

/**
 * The shortest text that is repeated, possibly with the beginning of another repetition behind; null if there is no
 * repetition.
 */
function findBlock(text: string): string | null {
  for (let length = 1; length <= text.length / 2; length++) {
    const block = text.slice(0, length)
    if (block.repeat(Math.ceil(text.length / length)).startsWith(text)) return block
  }
  return null
}

/** Loaded when a password is chosen. */
function loadWords(): Set<string> {
  common ??= new Set(
    readFileSync(`${packageFolder()}/src/users/common-words.txt`, 'utf8')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#')),
  )
  return common
}

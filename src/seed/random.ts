/** Pseudorandom numbers that are the same for the same seed: nothing that is made of them protects anything. */
export type Random = {
  /** From 0 up to, not including, 1. */
  next(): number
  below(limit: number): number
  between(least: number, most: number): number
  chance(probability: number): boolean
  pick<Item>(items: readonly [Item, ...Item[]]): Item
  /** With mean 0 and deviation 1. */
  normal(): number
  /** Of version 4. */
  uuid(): string
  digits(length: number): string
  letters(length: number): string
}

const hexDigits = Buffer.from('0123456789abcdef')
const digits = Buffer.from('0123456789')
const lettersAndDigits = Buffer.from('0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz')

/** The generator sfc32, some nanoseconds a number. */
export function createRandom(seed: number): Random {
  let a = 0x9e3779b9
  let b = 0x243f6a88
  let c = seed | 0
  let counter = Math.floor(seed / 2 ** 32) + 1
  const bits = () => {
    const sum = (((a + b) | 0) + counter) | 0
    counter = (counter + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = (((c << 21) | (c >>> 11)) + sum) | 0
    return sum >>> 0
  }
  // Seeds that lie close together differ in all bits after these.
  for (let round = 0; round < 20; round += 1) bits()

  const next = () => bits() / 2 ** 32
  const below = (limit: number) => Math.floor(next() * limit)
  // Put together as bytes: as text, each character would be a string of its own on the way.
  const bytes = Buffer.alloc(64)
  const textOf = (length: number, characters: Buffer) => {
    for (let place = 0; place < length; place += 1) bytes[place] = characters[below(characters.length)] ?? 0
    return bytes.toString('latin1', 0, length)
  }
  return {
    next,
    below,
    between: (least, most) => least + below(most - least + 1),
    chance: (probability) => next() < probability,
    pick: (items) => items[below(items.length)] ?? items[0],
    normal: () => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next()),
    uuid() {
      let word = 0
      for (let place = 0; place < 36; place += 1) {
        if (place % 8 === 0) word = bits()
        bytes[place] = hexDigits[word & 15] ?? 0
        word >>>= 4
      }
      bytes[8] = bytes[13] = bytes[18] = bytes[23] = 0x2d
      bytes[14] = 0x34
      bytes[19] = hexDigits[8 + ((bytes[19] ?? 0) & 3)] ?? 0
      return bytes.toString('latin1', 0, 36)
    },
    digits: (length) => textOf(length, digits),
    letters: (length) => textOf(length, lettersAndDigits),
  }
}

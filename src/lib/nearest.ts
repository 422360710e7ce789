/** Longer names are not typos, and comparing them takes quadratic time. */
const lengthMax = 64

/**
 * The known name that the caller most likely meant, or null. `external_code` gives `externalCode`, and `ammount` gives
 * `amount`.
 */
export function findNearest(name: string, known: readonly string[]): string | null {
  if (name.length > lengthMax) return null
  const bare = toBare(name)
  let [nearest, fewest]: [string | null, number] = [null, Math.floor(bare.length / 3)]
  for (const candidate of known) {
    const edits = countEdits(bare, toBare(candidate))
    if (edits < fewest || (edits === fewest && nearest === null)) [nearest, fewest] = [candidate, edits]
  }
  return nearest
}

/** Keeps only ASCII letters and digits, in lower case: underscores and case differ between programming languages. */
function toBare(name: string): string {
  return name.toLowerCase().replace(/[^a-z\d]/g, '')
}

/** The edit distance: insertions, deletions, replacements and swaps of neighbouring letters. */
function countEdits(from: string, to: string): number {
  let before: number[] = []
  let row = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (let i = 1; i <= from.length; i += 1) {
    const next = [i]
    for (let j = 1; j <= to.length; j += 1) {
      const isSame = from[i - 1] === to[j - 1]
      const isSwapped = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1]
      next[j] = Math.min(
        (row[j] ?? 0) + 1,
        (next[j - 1] ?? 0) + 1,
        (row[j - 1] ?? 0) + (isSame ? 0 : 1),
        isSwapped ? (before[j - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
      )
    }
    before = row
    row = next
  }
  return row[to.length] ?? 0
}

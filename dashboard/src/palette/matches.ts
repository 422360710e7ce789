/** Without case and accents, as the service compares names. */
export function fold(text: string): string {
  return text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()
}

/** Whether each word of the query is the beginning of a word of the text. A query without a word matches nothing. */
export function matches(text: string, query: string): boolean {
  const words = fold(text).split(/[^\p{L}\p{N}]+/u)
  const parts = fold(query)
    .split(/[^\p{L}\p{N}]+/u)
    .filter((part) => part !== '')
  return parts.length > 0 && parts.every((part) => words.some((word) => word.startsWith(part)))
}

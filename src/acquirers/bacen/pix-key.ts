import { detectPixKey } from '../../pix/key.ts'

/** Ignores case and punctuation. */
export function isSameKey(one: string, other: string): boolean {
  return toBareKey(one) === toBareKey(other)
}

function toBareKey(key: string): string {
  return (detectPixKey(key)?.key ?? key).toLowerCase()
}

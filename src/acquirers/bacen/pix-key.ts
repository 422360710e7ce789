import { detectPixKey } from '../../pix/key.ts'

/** Keys are the same in any case of letters, and however they are punctuated. */
export function isSameKey(one: string, other: string): boolean {
  return toBareKey(one) === toBareKey(other)
}

function toBareKey(key: string): string {
  return (detectPixKey(key)?.key ?? key).toLowerCase()
}

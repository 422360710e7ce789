import { bb } from './dialects/bb.ts'
import { bradesco } from './dialects/bradesco.ts'
import { type Dialect, generic } from './dialects/dialect.ts'
import { efi } from './dialects/efi.ts'
import { inter } from './dialects/inter.ts'
import { itau } from './dialects/itau.ts'
import { santander } from './dialects/santander.ts'
import { sicoob } from './dialects/sicoob.ts'
import { sicredi } from './dialects/sicredi.ts'

/** Every supported PSP, by its name in a settings file. */
export const dialects = {
  generic,
  efi,
  bb,
  itau,
  sicredi,
  sicoob,
  inter,
  santander,
  bradesco,
} satisfies Record<string, Dialect>

export type DialectName = keyof typeof dialects

export const dialectNames = Object.keys(dialects) as DialectName[]

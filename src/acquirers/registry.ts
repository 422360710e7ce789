import { assert } from '../lib/assert.ts'
import type { Acquirer } from './acquirer.ts'

export type Acquirers = {
  /** Takes new charges. */
  current: Acquirer
  /** Any known one: a transaction is settled by the acquirer that it was made with. */
  get(name: string): Acquirer | undefined
  readonly all: readonly Acquirer[]
}

export function createRegistry(acquirers: Acquirer[], currentName: string): Acquirers {
  const byName = new Map(acquirers.map((acquirer) => [acquirer.name, acquirer]))
  assert(byName.size === acquirers.length, 'every acquirer has a name of its own')
  const current = byName.get(currentName)
  assert(current, 'the current acquirer is one of those known')
  return { current, get: (name) => byName.get(name), all: acquirers }
}

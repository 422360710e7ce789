import { expect, it } from 'vitest'
import { BrokenInvariant } from '../../src/lib/assert.ts'
import { findFaults } from './invariants.ts'
import { openWorld } from './world.ts'

it.each(['warn', 'error'] as const)(
  'finds a violated assertion that a process logged as %s before it ended',
  async (level) => {
    const world = await openWorld(1)
    try {
      world.process.deps.log[level]({ err: new BrokenInvariant('it holds') }, 'a job failed')
      await world.restartProcess()
      expect(await findFaults(world)).toEqual(['Broken invariant: it holds'])
    } finally {
      await world.close()
    }
  },
)

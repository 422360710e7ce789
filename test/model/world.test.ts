import { expect, it } from 'vitest'
import { BrokenInvariant } from '../../src/lib/assert.ts'
import { findFaults } from './invariants.ts'
import { openWorld } from './world.ts'

it('finds a violated assertion that a process logged before it ended', async () => {
  const world = await openWorld(1)
  try {
    world.process.deps.log.error({ err: new BrokenInvariant('it holds') }, 'a request failed')
    await world.restartProcess()
    expect(await findFaults(world)).toEqual(['Broken invariant: it holds'])
  } finally {
    await world.close()
  }
})

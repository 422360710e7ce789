import { expect, it } from 'vitest'
import { exists } from '../../src/db/embedded-process.ts'
import { assert } from '../../src/lib/assert.ts'
import { openCommandLine } from './command-line.ts'
import { commandOf, descendantsOf } from './postmaster.ts'

it('runs a command in a new process when the process has ended after the previous command', async () => {
  const commands = await openCommandLine({})
  try {
    const version = await commands.read(['--version'])
    const pid = descendantsOf(process.pid).find((one) => commandOf(one).includes('command-runner.mjs'))
    assert(pid, 'the process runs')
    process.kill(pid, 'SIGKILL')
    await expect.poll(() => exists(pid)).toBe(false)
    expect(await commands.read(['--version'])).toBe(version)
  } finally {
    await commands.stop()
  }
})

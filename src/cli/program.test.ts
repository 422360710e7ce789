import { expect, it, onTestFinished, vi } from 'vitest'
import { commandNames, createProgram, runCommand } from './program.ts'

it.each(commandNames)('the program has the command %s when it is named', async (name) => {
  const found = (words: string[]) => createProgram(words).then(({ commands }) => commands.map((one) => one.name()))
  expect(await found([name])).toContain(name)
  expect(await found(['--as', 'ana', name, '--json'])).toContain(name)
})

it('describes each command and its arguments in the general help', async () => {
  const loaded = (await createProgram(commandNames)).helpInformation()
  for (const words of [['--help'], ['-h', 'client'], ['help'], [], ['cliet']])
    expect((await createProgram(words)).helpInformation()).toBe(loaded)
})

it('prints which argument is wrong, and ends with 1', async () => {
  const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  onTestFinished(() => {
    written.mockRestore()
    process.exitCode = undefined
  })
  await runCommand(['reconcile', 'confirm', '0b1f0c9e-3a52-4a55-9d3c-7f2f4f0f7c11', 'nonsense'])
  expect(written.mock.calls.join('')).toMatch(/'nonsense' is invalid for argument 'id'\. An id such as/)
  expect(process.exitCode).toBe(1)
})

it('loads only the named command for its help', async () => {
  for (const words of [
    ['help', 'client'],
    ['client', '-h'],
    ['client', 'create', '--help'],
  ]) {
    const program = await createProgram(words)
    expect(program.commands.map((command) => command.name())).toEqual(['client'])
  }
})

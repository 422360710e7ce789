import { expect, it } from 'vitest'
import { commandNames, createProgram } from './program.ts'

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

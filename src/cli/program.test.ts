import { expect, it } from 'vitest'
import { createProgram } from './program.ts'

const all = await createProgram()

it.each(all.commands.map((command) => command.name()))('has the command %s when it is named', async (name) => {
  const found = (words: string[]) => createProgram(words).then(({ commands }) => commands.map((one) => one.name()))
  expect(await found([name])).toContain(name)
  expect(await found(['--as', 'ana', name, '--json'])).toContain(name)
})

it('has all commands for --help and for an unknown command', async () => {
  const names = all.commands.map((command) => command.name())
  for (const words of [['--help'], ['-h', 'client'], ['help'], [], ['cliet']]) {
    const program = await createProgram(words)
    expect(program.commands.map((command) => command.name())).toEqual(names)
  }
})

it('loads for the help of a command that command alone', async () => {
  for (const words of [
    ['help', 'client'],
    ['client', '-h'],
    ['client', 'create', '--help'],
  ]) {
    const program = await createProgram(words)
    expect(program.commands.map((command) => command.name())).toEqual(['client'])
  }
})

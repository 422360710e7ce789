import { type Command, InvalidArgumentError } from 'commander'
import { createKeyRing } from '../auth/keys.ts'
import { isCellName, prefixesOf } from '../lib/cell.ts'
import { newSecretKey } from '../lib/secrets.ts'
import { byOf, withContext } from './context.ts'
import { print, write } from './print.ts'

/** The key that signs tokens, the key that encrypts secrets, and the prefixes of cells. */
export function keysCommands(program: Command): void {
  program
    .command('rotate-signing-key')
    .option('--json', 'print JSON')
    .action(async ({ json }: { json?: boolean }) => {
      const kid = await withContext(async (context) => {
        return await createKeyRing(context).rotate(byOf(program))
      })
      print({ kid }, { json, note: 'Running services use it within a minute. No restart is needed.' })
    })

  program.command('secret-key').action(() => write(`${newSecretKey()}\n`))

  program
    .command('cell')
    .argument('<names...>', 'names of cells', toCellNames)
    .option('--json', 'print JSON')
    .action((names: string[], { json }: { json?: boolean }) => {
      print(
        names.map((cell) => ({ cell, ...prefixesOf(cell) })),
        { json },
      )
    })
}

function toCellNames(name: string, before: string[] = []): string[] {
  if (!isCellName(name)) throw new InvalidArgumentError('1 to 4 lowercase letters and digits.')
  return [...before, name]
}

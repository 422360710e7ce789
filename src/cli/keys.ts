import type { Command } from 'commander'
import { createKeyRing } from '../auth/keys.ts'
import { newSecretKey } from '../lib/secrets.ts'
import { byOf, withContext } from './context.ts'
import { print, write } from './print.ts'

/** The key that signs tokens, and the key that encrypts secrets. */
export function keysCommands(program: Command): void {
  program
    .command('rotate-signing-key')
    .description('sign access tokens with a new key from now on; existing tokens stay valid')
    .option('--json', 'print JSON')
    .action(async ({ json }: { json?: boolean }) => {
      const kid = await withContext(async (context) => {
        return await createKeyRing(context).rotate(byOf(program))
      })
      print({ kid }, { json, note: 'Running services use it within a minute. No restart is needed.' })
    })

  program
    .command('secret-key')
    .description('make a value for SECRET_KEY')
    .action(() => write(`${newSecretKey()}\n`))
}

import type { Command } from 'commander'
import { erasePerson, exportPerson } from '../privacy/person.ts'
import { actionOf } from './actor.ts'
import { toDocument } from './arguments.ts'
import { withContext } from './context.ts'
import { print } from './print.ts'

/** `guiche customer …`: what is kept of a person (LGPD, art. 18). */
export function customerCommands(program: Command): void {
  const customer = program.command('customer').description('what is kept of a person: export it, erase it (LGPD)')

  customer
    .command('export')
    .description('print all that is kept of a person, as JSON')
    .requiredOption('--document <document>', 'CPF or CNPJ', toDocument)
    .option('--json', 'print JSON, as without')
    .action(async ({ document }: { document: string }) => {
      const kept = await withContext(async (context) => {
        const { actor: by } = actionOf(program, context, { action: 'customer.export' })
        return await exportPerson(context, { document, by })
      })
      print(kept, { json: true })
    })

  customer
    .command('erase')
    .description('erase what identifies a person; amounts, ids and the ledger stay. It cannot be undone')
    .requiredOption('--document <document>', 'CPF or CNPJ', toDocument)
    .requiredOption('--confirm <document>', 'the same again', toDocument)
    .option('--json', 'print JSON')
    .action(async ({ document, confirm, json }: { document: string; confirm: string; json?: boolean }) => {
      if (confirm !== document) throw new Error('--confirm names another document: nothing was erased.')
      const erased = await withContext(async (context) => {
        const { actor: by } = actionOf(program, context, { action: 'customer.erase' })
        return await erasePerson(context, { document, by })
      })
      print(erased, {
        json,
        note: 'The document is kept as a keyed hash only. Copies elsewhere are not reached: backups, logs of proxies, the PSP, the merchants.',
      })
    })
}

import type { Command } from 'commander'
import { erasePerson, exportPerson } from '../privacy/person.ts'
import { toDocument } from './arguments.ts'
import { byOf, withContext } from './context.ts'
import { print } from './print.ts'

/** `guiche customer …`: a person's data (LGPD, art. 18). */
export function customerCommands(program: Command): void {
  const customer = program.command('customer')

  customer
    .command('export')
    .description('print all data of a person as JSON')
    .requiredOption('--document <document>', 'CPF or CNPJ', toDocument)
    .option('--json', 'print JSON (the default)')
    .action(async ({ document }: { document: string }) => {
      const kept = await withContext(async (context) => {
        return await exportPerson(context, { document, by: byOf(program) })
      })
      print(kept, { json: true })
    })

  customer
    .command('erase')
    .description('erase what identifies a person; amounts, ids and the ledger stay. This cannot be undone')
    .requiredOption('--document <document>', 'CPF or CNPJ', toDocument)
    .requiredOption('--confirm <document>', 'the same document again', toDocument)
    .option('--json', 'print JSON')
    .action(async ({ document, confirm, json }: { document: string; confirm: string; json?: boolean }) => {
      if (confirm !== document) throw new Error('--confirm has a different document: nothing was erased.')
      const erased = await withContext(async (context) => {
        return await erasePerson(context, { document, by: byOf(program) })
      })
      print(erased, {
        json,
        note: 'Of the personal data only a keyed hash of the document remains here. Copies elsewhere are not erased: backups, proxy logs, the PSP, the merchants.',
      })
    })
}

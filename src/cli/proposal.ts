import type { Command } from 'commander'
import { decideProposal, listProposals } from '../operator/proposals.ts'
import { toId } from './arguments.ts'
import { byOf, withContext } from './context.ts'
import { print } from './print.ts'

type Json = { json?: boolean }

/** `guiche proposal …`: what one person proposed and another has to approve. */
export function proposalCommands(program: Command): void {
  const proposal = program.command('proposal')

  proposal
    .command('list')
    .description('list what waits for a second person, oldest first')
    .option('--json', 'print JSON')
    .action(async ({ json }: Json) => {
      const rows = await withContext(async (context) => await listProposals(context, byOf(program).actor))
      const shown = rows.map(({ id, kind, clientId, recordId, proposedBy, proposedAt, content }) => {
        return { id, kind, clientId, recordId, proposedBy, proposedAt, content: JSON.stringify(content) }
      })
      print(rows, { json, shown })
    })

  for (const [decision, description, note] of [
    ['approve', 'approve the proposal and carry it out', 'It was carried out.'],
    ['reject', 'reject the proposal', 'Nothing was changed.'],
  ] as const) {
    proposal
      .command(decision)
      .argument('<id>', 'id of the proposal', toId)
      .description(description)
      .option('--json', 'print JSON')
      .action(async (id: string, { json }: Json) => {
        const deciding = { id, decision, by: byOf(program) }
        print(await withContext(async (context) => await decideProposal(context, deciding)), { json, note })
      })
  }
}

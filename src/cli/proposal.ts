import type { Command } from 'commander'
import { findWithKind, listProposals } from '../operator/proposals.ts'
import { approveProposal, rejectProposal } from '../proposals/decide.ts'
import { byOf } from './actor.ts'
import { toId } from './arguments.ts'
import { withContext } from './context.ts'
import { print } from './print.ts'

type Json = { json?: boolean }

/** `guiche proposal …`: what one person proposed and another has to approve. */
export function proposalCommands(program: Command): void {
  const proposal = program.command('proposal').description('what one person proposed and another has to approve')

  proposal
    .command('list')
    .description('list what waits for a second person, oldest first')
    .option('--json', 'print JSON')
    .action(async ({ json }: Json) => {
      const rows = await withContext(async (context) => await listProposals(context, byOf(program).actor))
      const shown = rows.map(({ id, kind, clientId, recordId, proposedBy, proposedAt, content }) => {
        return { id, kind, clientId, recordId, proposedBy, proposedAt, content: JSON.stringify(content) }
      })
      print(rows, { json, shown, empty: 'none' })
    })

  proposal
    .command('approve')
    .argument('<id>', 'id of the proposal', toId)
    .description('approve the proposal and carry it out')
    .option('--json', 'print JSON')
    .action(async (id: string, { json }: Json) => {
      await withContext(async (context) => {
        const { kind } = await findWithKind(context.db, id)
        await approveProposal(context, kind, { id, by: byOf(program) })
      })
      print({ id, state: 'approved' }, { json, note: 'It was carried out.' })
    })

  proposal
    .command('reject')
    .argument('<id>', 'id of the proposal', toId)
    .description('reject the proposal')
    .option('--json', 'print JSON')
    .action(async (id: string, { json }: Json) => {
      await withContext(async (context) => {
        const { kind } = await findWithKind(context.db, id)
        await rejectProposal(context, kind, { id, by: byOf(program) })
      })
      print({ id, state: 'rejected' }, { json, note: 'Nothing was changed.' })
    })
}

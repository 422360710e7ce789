import type { Command } from 'commander'
import { proposalKinds } from '../proposal-kinds.ts'
import { approveProposal, type ProposalKind, rejectProposal } from '../proposals/decide.ts'
import { findProposal, listOpenProposals } from '../proposals/store.ts'
import { byOf } from './actor.ts'
import { toId } from './arguments.ts'
import { type Context, withContext } from './context.ts'
import { print } from './print.ts'

type Json = { json?: boolean }

const listedMax = 100

/** `guiche proposal …`: what one person proposed and another has to approve. */
export function proposalCommands(program: Command): void {
  const proposal = program.command('proposal').description('what one person proposed and another has to approve')

  proposal
    .command('list')
    .description('list what waits for a second person, oldest first')
    .option('--json', 'print JSON')
    .action(async ({ json }: Json) => {
      const kinds = proposalKinds.map(({ name }) => name)
      const rows = await withContext(async ({ db }) => await listOpenProposals(db, { kinds, limit: listedMax }))
      print(
        rows.map((row) => ({
          id: row.id,
          kind: row.kind,
          clientId: row.client_id,
          recordId: row.record_id,
          proposedBy: row.proposed_by,
          proposedAt: row.proposed_at,
          content: JSON.stringify(row.content),
        })),
        { json, empty: 'none' },
      )
    })

  proposal
    .command('approve')
    .argument('<id>', 'id of the proposal', toId)
    .description('approve the proposal and carry it out')
    .option('--json', 'print JSON')
    .action(async (id: string, { json }: Json) => {
      await withContext(async (context) => {
        const kind = await findKind(context, id)
        await approveProposal({ ...context, wakeDeliveries: () => {} }, kind, { id, by: byOf(program) })
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
        await rejectProposal(context, await findKind(context, id), { id, by: byOf(program) })
      })
      print({ id, state: 'rejected' }, { json, note: 'Nothing was changed.' })
    })
}

async function findKind({ db }: Context, id: string): Promise<ProposalKind> {
  const row = await findProposal(db, id)
  const kind = proposalKinds.find(({ name }) => name === row?.kind)
  if (kind) return kind
  throw new Error(`There is no proposal ${id}. \`npx guiche proposal list\` lists the open ones.`)
}

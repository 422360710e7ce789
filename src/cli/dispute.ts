import type { Command } from 'commander'
import { type DisputeView, decideDispute, enterDispute } from '../operator/disputes.ts'
import { toCentsAboveZero, toId, toShortText } from './arguments.ts'
import { byOf, withContext } from './context.ts'
import { print } from './print.ts'

type Json = { json?: boolean }
type Of = { transaction: string }

/** `guiche infraction …`: disputes of payments (MED): those that the acquirer does not report, and decisions on any. */
export function disputeCommands(program: Command): void {
  const infraction = program.command('infraction')

  infraction
    .command('open')
    .description('enter a dispute: the disputed amount is blocked')
    .requiredOption('--transaction <id>', 'which payment', toId)
    .option(
      '--amount <cents>',
      'the disputed amount (default: all that is neither returned nor disputed)',
      toCentsAboveZero,
    )
    .option('--reason <reason>', 'the reason that the bank gives', toShortText)
    .option('--json', 'print JSON')
    .action(async ({ json, transaction, ...more }: Json & Of & { amount?: number; reason?: string }) => {
      const opening = { transactionId: transaction, ...more, by: byOf(program) }
      const dispute = await withContext(async (context) => await enterDispute(context, opening))
      const note = `Enter the decision with \`npx guiche infraction accept --transaction ${transaction}\`, or \`reject\`.`
      print(dispute, { json, shown: toShown(dispute), note })
    })

  for (const [decision, description, note] of [
    [
      'accept',
      'the payer is right: the amount stays blocked until the acquirer reports its return',
      'The amount stays blocked until the acquirer reports its return.',
    ],
    [
      'reject',
      'the payer is not right, or nothing more is returned: what is still blocked is released',
      'What was still blocked is released. It repays a debt first.',
    ],
  ] as const) {
    infraction
      .command(decision)
      .description(description)
      .requiredOption('--transaction <id>', 'which payment', toId)
      .option('--dispute <id>', 'which dispute; needed if the payment has several undecided ones', toId)
      .option('--json', 'print JSON')
      .action(async ({ json, transaction, dispute: disputeId }: Json & Of & { dispute?: string }) => {
        const which = { transactionId: transaction, ...(disputeId && { disputeId }) }
        const deciding = { ...which, decision, by: byOf(program) }
        const dispute = await withContext(async (context) => await decideDispute(context, deciding))
        print(dispute, { json, shown: toShown(dispute), note })
      })
  }
}

function toShown({ id, transactionId, state }: DisputeView) {
  return { id, transactionId, state }
}

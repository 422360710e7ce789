import type { Command } from 'commander'
import { type DisputeView, decideDispute, enterDispute } from '../operator/disputes.ts'
import { toCentsAboveZero, toId, toReason } from './arguments.ts'
import { byOf, withContext } from './context.ts'
import { print } from './print.ts'

type Json = { json?: boolean }
type Of = { transaction: string }

/** `guiche infraction …`: disputes of payments (MED), for acquirers whose API does not report them. */
export function disputeCommands(program: Command): void {
  const dispute = program.command('infraction')

  dispute
    .command('open')
    .description('enter a dispute: the disputed amount is blocked')
    .requiredOption('--transaction <id>', 'which payment', toId)
    .option('--amount <cents>', 'the disputed amount (default: all that is not refunded)', toCentsAboveZero)
    .option('--reason <reason>', 'the reason that the bank gives', toReason)
    .option('--json', 'print JSON')
    .action(async ({ json, transaction, ...more }: Json & Of & { amount?: number; reason?: string }) => {
      const opening = { transactionId: transaction, ...more, by: byOf(program) }
      const dispute = await withContext(async (context) => await enterDispute(context, opening))
      const note = `\`npx guiche infraction accept | reject --transaction ${transaction}\` enters the decision.`
      print(dispute, { json, shown: toShown(dispute), note })
    })

  for (const [decision, description, note] of [
    [
      'accept',
      'the payer is right: the amount stays blocked until the acquirer reports its return',
      'The amount stays blocked until the acquirer reports its return.',
    ],
    ['reject', 'the payer is not right: the blocked amount is released', 'The blocked amount is available again.'],
  ] as const) {
    dispute
      .command(decision)
      .description(description)
      .requiredOption('--transaction <id>', 'which payment', toId)
      .option('--dispute <id>', 'which dispute, if it has several; without it they are listed', toId)
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

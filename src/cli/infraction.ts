import type { Command } from 'commander'
import { type Decision, decideInfraction, openInfraction } from '../transactions/infraction.ts'
import { findOwners } from '../transactions/owner-store.ts'
import { byOf } from './actor.ts'
import { toCentsAboveZero, toId, toReason } from './arguments.ts'
import { withContext } from './context.ts'
import { print } from './print.ts'

type Json = { json?: boolean }
type Of = { transaction: string }

/** `guiche infraction …`: disputes of payments (MED), for acquirers whose API does not report them. */
export function infractionCommands(program: Command): void {
  const infraction = program
    .command('infraction')
    .description('disputes of payments (MED), for acquirers whose API does not report them')

  infraction
    .command('open')
    .description('enter a dispute: the disputed amount is blocked')
    .requiredOption('--transaction <id>', 'which payment', toId)
    .option('--amount <cents>', 'the disputed amount (default: all that is not refunded)', toCentsAboveZero)
    .option('--reason <reason>', 'the reason that the bank gives', toReason)
    .option('--json', 'print JSON')
    .action(async ({ json, transaction, ...more }: Json & Of & { amount?: number; reason?: string }) => {
      const { id } = await withContext(async (context) => {
        const [owner] = await findOwners(context.db, [transaction])
        if (!owner) throw new Error(`There is no transaction ${transaction}.`)
        const opening = { merchantId: owner.merchant_id, transactionId: transaction, ...more, by: byOf(program) }
        return await openInfraction({ ...context, wakeDeliveries: () => {} }, opening)
      })
      const note = `\`npx guiche infraction accept | reject --transaction ${transaction}\` enters the decision.`
      print({ id, transactionId: transaction, state: 'open' }, { json, note })
    })

  infraction
    .command('accept')
    .description('the payer is right: the amount stays blocked until the acquirer reports its return')
    .requiredOption('--transaction <id>', 'which payment', toId)
    .option(...whichDispute)
    .option('--json', 'print JSON')
    .action(async ({ json, transaction, dispute }: Json & Of & { dispute?: string }) => {
      const id = await enter(program, { transaction, infractionId: dispute, decision: 'accept' })
      print(
        { id, transactionId: transaction, state: 'accepted' },
        { json, note: 'The amount stays blocked until the acquirer reports its return.' },
      )
    })

  infraction
    .command('reject')
    .description('the payer is not right: the blocked amount is released')
    .requiredOption('--transaction <id>', 'which payment', toId)
    .option(...whichDispute)
    .option('--json', 'print JSON')
    .action(async ({ json, transaction, dispute }: Json & Of & { dispute?: string }) => {
      const id = await enter(program, { transaction, infractionId: dispute, decision: 'reject' })
      print(
        { id, transactionId: transaction, state: 'rejected' },
        { json, note: 'The blocked amount is available again.' },
      )
    })
}

const whichDispute = ['--dispute <id>', 'which dispute, if it has several; without it they are listed', toId] as const

async function enter(
  program: Command,
  { transaction, infractionId, decision }: Of & Pick<Decision, 'infractionId' | 'decision'>,
): Promise<string> {
  const deciding = { transactionId: transaction, ...(infractionId && { infractionId }), decision, by: byOf(program) }
  const { id } = await withContext(
    // The service finds the event to deliver on its own: this process has no loop to wake.
    async (context) => await decideInfraction({ ...context, wakeDeliveries: () => {} }, deciding),
  )
  return id
}

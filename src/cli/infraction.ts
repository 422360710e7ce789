import type { Command } from 'commander'
import type { ActionName } from '../audit/actions.ts'
import { type Decision, decideInfraction, type InfractionDeps, openInfraction } from '../transactions/infraction.ts'
import { findOwners } from '../transactions/owner-store.ts'
import { recorded } from './actor.ts'
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
      const { id } = await act(
        program,
        { transaction, action: 'infraction.open', details: more },
        async (deps, merchantId) => await openInfraction(deps, { merchantId, transactionId: transaction, ...more }),
      )
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
  { transaction, infractionId, decision }: Of & Omit<Decision, 'transactionId'>,
): Promise<string> {
  const named = infractionId === undefined ? {} : { infractionId }
  const { id } = await act(
    program,
    { transaction, action: `infraction.${decision}`, details: named },
    async (deps) => await decideInfraction(deps, { transactionId: transaction, ...named, decision }),
  )
  return id
}

async function act<Result>(
  program: Command,
  { transaction, ...action }: Of & { action: ActionName; details?: Record<string, unknown> },
  operate: (deps: InfractionDeps, merchantId: string) => Promise<Result>,
): Promise<Result> {
  return await withContext(async (context) => {
    const [owner] = await findOwners(context.db, [transaction])
    if (!owner) throw new Error(`There is no transaction ${transaction}.`)
    const about = { ...action, merchantId: owner.merchant_id, recordId: transaction }
    // The service finds the event to deliver on its own: this process has no loop to wake.
    const deps = { ...context, db: recorded(program, context, about), wakeDeliveries: () => {} }
    return await operate(deps, owner.merchant_id)
  })
}

import type { Command } from 'commander'
import type { ActionName } from '../audit/actions.ts'
import { recordedDb } from '../audit/record.ts'
import { inReais } from '../lib/money.ts'
import { approveWithdrawal } from '../withdrawals/approve.ts'
import { defaultLimits, type Limits, setWithdrawalLimits } from '../withdrawals/limits.ts'
import { findLimits } from '../withdrawals/limits-store.ts'
import { listForOperator, type OperatorRow } from '../withdrawals/operator-store.ts'
import { rejectWithdrawal } from '../withdrawals/reject.ts'
import { proposeSettlement } from '../withdrawals/settle-by-hand.ts'
import { findOwner, type WithdrawalRow } from '../withdrawals/store.ts'
import { actionOf, actorOf, recorded } from './actor.ts'
import { toId, toLimit, toReason, toRowCount, toThreshold, toWindowSeconds } from './arguments.ts'
import { findMerchant } from './client.ts'
import { type Context, withContext } from './context.ts'
import { explainCommand } from './explain.ts'
import { print } from './print.ts'

type Json = { json?: boolean }

/** `guiche withdrawal …`: money that leaves, and what holds it up. */
export function withdrawalCommands(program: Command): void {
  const withdrawal = program.command('withdrawal').description('money that leaves, and what holds it up')
  explainCommand(withdrawal)

  withdrawal
    .command('list')
    .description('list the last withdrawals, newest first')
    .option('--held', 'only those that wait for review')
    .option('--client <client-id>', 'those of one client')
    .option('--last <count>', 'how many', toRowCount, 50)
    .option('--json', 'print JSON')
    .action(async ({ json, held, client, last }: Json & { held?: boolean; client?: string; last: number }) => {
      const rows = await withContext(async (context) => {
        const merchantId = client === undefined ? null : await findMerchant(context, client)
        return await listForOperator(context.db, { merchantId, isHeld: held ?? false, limit: last })
      })
      const listed = rows.map(toView)
      print(listed, {
        json,
        shown: listed.map((row) => ({ ...row, amount: inReais(row.amount), feeAmount: inReais(row.feeAmount ?? 0) })),
        note: rows.some(({ hold }) => hold !== null)
          ? '`npx guiche withdrawal approve <id>` sends one, `reject <id> --reason …` gives the money back.'
          : undefined,
      })
    })

  withdrawal
    .command('approve')
    .argument('<id>', 'of the withdrawal', toId)
    .description('approve a withdrawal that waits for review; it is sent')
    .option('--json', 'print JSON')
    .action(async (id: string, { json }: Json) => {
      const row = await decide(program, { id, action: 'withdrawal.approve' }, approveWithdrawal)
      printDecided(row, { json, note: 'The service sends it within seconds. Nothing need be restarted.' })
    })

  withdrawal
    .command('reject')
    .argument('<id>', 'of the withdrawal', toId)
    .description('reject a withdrawal that has not been sent, and return its money')
    .requiredOption('--reason <reason>', 'why; the merchant reads it', toReason)
    .option('--json', 'print JSON')
    .action(async (id: string, { json, reason }: Json & { reason: string }) => {
      const decision = { id, action: 'withdrawal.reject' as const, details: { reason } }
      const row = await decide(program, decision, async (deps) => await rejectWithdrawal(deps, { id, reason }))
      printDecided(row, { json, note: 'Amount and fee are in its balance again, and the shop is told.' })
    })

  withdrawal
    .command('settle')
    .argument('<id>', 'of the withdrawal', toId)
    .description('propose what became of a payout that the acquirer cannot be asked about; another person approves it')
    .option('--sent <endToEndId>', 'the PSP’s account statement has the payout, under this id')
    .option('--not-sent', 'the PSP’s account statement does not have it: amount and fee are released')
    .requiredOption('--reason <reason>', 'what you saw there; the merchant reads it if nothing was sent', toReason)
    .option('--json', 'print JSON')
    .action(async (id: string, { json, sent, notSent, reason }: Json & SeenThere) => {
      if ((sent === undefined) === (notSent === undefined))
        throw new Error('Give either --sent <endToEndId> or --not-sent, as the PSP’s account statement shows it.')
      const seen = { endToEndId: sent ?? null, reason }
      const proposal = await withContext(
        async (context) => await proposeSettlement(context, { id, seen, by: actorOf(program) }),
      )
      print(
        { id: proposal.id, withdrawalId: id, state: 'open', ...seen },
        { json, note: `Another person approves it: \`npx guiche proposal approve ${proposal.id}\`.` },
      )
    })

  withdrawal
    .command('limits')
    .description('set or show what a client may withdraw; what is not named stays as it is')
    .requiredOption('--client <client-id>', 'the client whose limits these are')
    .option('--per-withdrawal <cents>', 'at most for one; none lifts it', toLimit)
    .option('--per-day <cents>', 'at most from 06:00 to 20:00 in São Paulo; none lifts it', toLimit)
    .option('--per-night <cents>', 'at most from 20:00 to 06:00; none lifts it', toLimit)
    .option('--approval-above <cents>', 'what is above waits for the operator; none lifts it', toThreshold)
    .option(
      '--operator-approval-above <cents>',
      'the same for what one of the operator’s people asks for; none lifts it',
      toThreshold,
    )
    .option(
      '--duplicate-window-seconds <seconds>',
      'how long the same amount to the same key looks like a duplicate; 0 turns that off',
      toWindowSeconds,
    )
    .option('--json', 'print JSON')
    .action(async ({ json, client, ...given }: Json & { client: string } & GivenLimits) => {
      const changed = toChangedLimits(given)
      const limits = await withContext(async (context) => {
        const merchantId = await findMerchant(context, client)
        if (Object.keys(changed).length === 0) return (await findLimits(context.db, merchantId)) ?? defaultLimits
        const action = { action: 'withdrawal.limits' as const, merchantId, recordId: merchantId, details: changed }
        return await setWithdrawalLimits(recorded(program, context, action), { merchantId, ...changed })
      })
      print({ clientId: client, ...limits }, { json, shown: { clientId: client, ...toShownLimits(limits) } })
    })
}

/** As options have them: `none` lifts a limit. */
type GivenLimits = { [Name in keyof Limits]?: number | (null extends Limits[Name] ? 'none' : never) }

function toChangedLimits({ duplicateWindowSeconds, ...given }: GivenLimits): Partial<Limits> {
  const limits = Object.entries(given).map(([name, limit]) => [name, limit === 'none' ? null : limit])
  return { ...Object.fromEntries(limits), ...(duplicateWindowSeconds !== undefined && { duplicateWindowSeconds }) }
}

type SeenThere = { sent?: string; notSent?: boolean; reason: string }

type Decision = { id: string; action: ActionName; details?: Record<string, unknown> }

async function decide(
  program: Command,
  { id, ...action }: Decision,
  operate: (deps: Context, input: { id: string; by: string }) => Promise<WithdrawalRow>,
): Promise<WithdrawalRow> {
  return await withContext(async (context) => {
    const owner = await findOwner(context.db, id)
    if (!owner)
      throw new Error(`There is no withdrawal ${id}. \`npx guiche withdrawal list --held\` shows those that wait.`)
    const acting = actionOf(program, context, { ...action, merchantId: owner.merchant_id, recordId: id })
    return await operate({ ...context, db: recordedDb(context.db, acting) }, { id, by: acting.actor })
  })
}

function printDecided(row: WithdrawalRow, { json, note }: Json & { note: string }): void {
  const { id, status, hold, amount } = row
  print({ id, status, hold, amount }, { json, shown: { id, status, amount: inReais(amount) }, note })
}

function toView(row: OperatorRow) {
  return {
    id: row.id,
    clientId: row.client_id,
    status: row.status,
    hold: row.hold,
    amount: row.amount,
    feeAmount: row.fee_amount,
    pixKey: row.pix_key,
    createdAt: row.created_at,
  }
}

function toShownLimits(limits: Limits) {
  const inWords = (cents: number | null) => (cents === null ? 'none' : inReais(cents))
  return {
    perWithdrawal: inWords(limits.perWithdrawal),
    perDay: inWords(limits.perDay),
    perNight: inWords(limits.perNight),
    approvalAbove: inWords(limits.approvalAbove),
    operatorApprovalAbove: inWords(limits.operatorApprovalAbove),
    duplicateWindowSeconds: limits.duplicateWindowSeconds,
  }
}

import type { Command } from 'commander'
import { inReais } from '../lib/money.ts'
import {
  approvePayout,
  atCommandLine,
  listLatest,
  proposeOutcome,
  rejectPayout,
  showLimits,
  type WithdrawalView,
} from '../operator/withdrawals.ts'
import { type Limits, setWithdrawalLimits } from '../withdrawals/limits.ts'
import { toId, toLimit, toRowCount, toShortText, toThreshold, toWindowSeconds } from './arguments.ts'
import { findMerchant } from './client.ts'
import { byOf, withContext } from './context.ts'
import { explainCommand } from './explain.ts'
import { print } from './print.ts'

type Json = { json?: boolean }

/** `guiche withdrawal …`: withdrawals, reviews and limits. */
export function withdrawalCommands(program: Command): void {
  const withdrawal = program.command('withdrawal')
  const viewer = () => atCommandLine(byOf(program))
  explainCommand(withdrawal)

  withdrawal
    .command('list')
    .description('list withdrawals, newest first')
    .option('--pending-review', 'only those pending review')
    .option('--client <client-id>', 'only those of one client')
    .option('--last <count>', 'how many', toRowCount, 50)
    .option('--json', 'print JSON')
    .action(
      async ({
        json,
        pendingReview,
        client,
        last,
      }: Json & { pendingReview?: boolean; client?: string; last: number }) => {
        const rows = await withContext(async (context) => {
          const merchantId = client === undefined ? null : await findMerchant(context, client)
          return await listLatest(
            context,
            { merchantId, isPendingReview: pendingReview ?? false, limit: last },
            viewer(),
          )
        })
        print(rows, {
          json,
          shown: rows.map(toLine),
          note: rows.some(({ hold }) => hold !== null)
            ? '`npx guiche withdrawal approve <id>` sends one, `reject <id> --reason …` returns its money to the balance.'
            : undefined,
        })
      },
    )

  withdrawal
    .command('approve')
    .argument('<id>', 'id of the withdrawal', toId)
    .description('approve a withdrawal that is pending review; it is then sent')
    .option('--json', 'print JSON')
    .action(async (id: string, { json }: Json) => {
      const row = await withContext(async (context) => await approvePayout(context, id, viewer()))
      printDecided(row, { json, note: 'The service sends it within seconds. No restart is needed.' })
    })

  withdrawal
    .command('reject')
    .argument('<id>', 'id of the withdrawal', toId)
    .description('reject a withdrawal that has not been sent, and return its money')
    .requiredOption('--reason <reason>', 'why; the merchant reads it', toShortText)
    .option('--json', 'print JSON')
    .action(async (id: string, { json, reason }: Json & { reason: string }) => {
      const row = await withContext(async (context) => await rejectPayout(context, { id, reason }, viewer()))
      printDecided(row, { json, note: 'Amount and fee are back in the balance, and the merchant is notified.' })
    })

  withdrawal
    .command('settle')
    .argument('<id>', 'id of the withdrawal', toId)
    .description('propose the outcome of a payout that the acquirer cannot look up; another person approves it')
    .option('--sent <endToEndId>', 'the PSP’s account statement has the payout with this id')
    .option('--not-sent', 'the PSP’s account statement does not have it: amount and fee are released')
    .requiredOption('--reason <reason>', 'what you saw in it; the merchant reads this if nothing was sent', toShortText)
    .option('--json', 'print JSON')
    .action(async (id: string, { json, sent, notSent, reason }: Json & OutcomeOptions) => {
      if ((sent === undefined) === (notSent === undefined))
        throw new Error('Give either --sent <endToEndId> or --not-sent, as the PSP’s account statement shows it.')
      const proposing = { id, endToEndId: sent ?? null, reason }
      const row = await withContext(async (context) => await proposeOutcome(context, proposing, viewer()))
      print(row, {
        json,
        shown: { proposal: row.proposal?.id, withdrawal: id, endToEndId: proposing.endToEndId, reason },
        note: `Another person approves it: \`npx guiche proposal approve ${row.proposal?.id}\`.`,
      })
    })

  withdrawal
    .command('limits')
    .description('show or set the withdrawal limits of a client; other limits stay unchanged')
    .requiredOption('--client <client-id>', 'the client')
    .option('--per-withdrawal <cents>', 'maximum of one withdrawal; "none" removes it', toLimit)
    .option('--per-day <cents>', 'maximum from 06:00 to 20:00 São Paulo time; "none" removes it', toLimit)
    .option('--per-night <cents>', 'maximum from 20:00 to 06:00; "none" removes it', toLimit)
    .option(
      '--approval-above <cents>',
      'larger withdrawals need the operator’s approval; "none" removes it',
      toThreshold,
    )
    .option(
      '--operator-approval-above <cents>',
      'the same for withdrawals that an operator user requests; "none" removes it',
      toThreshold,
    )
    .option(
      '--duplicate-window-seconds <seconds>',
      'how long the same amount to the same key counts as a duplicate; 0 disables the check',
      toWindowSeconds,
    )
    .option('--json', 'print JSON')
    .action(async ({ json, client, ...options }: Json & { client: string } & LimitOptions) => {
      const changed = toChangedLimits(options)
      const limits = await withContext(async (context) => {
        const merchantId = await findMerchant(context, client)
        if (Object.keys(changed).length > 0)
          await setWithdrawalLimits(context, { merchantId, ...changed, by: byOf(program) })
        return await showLimits(context, merchantId, viewer())
      })
      print({ clientId: client, ...limits }, { json, shown: { clientId: client, ...toShownLimits(limits) } })
    })
}

/** The limits as options give them: `none` removes a limit. */
type LimitOptions = { [Name in keyof Limits]?: number | (null extends Limits[Name] ? 'none' : never) }

function toChangedLimits({ duplicateWindowSeconds, ...limits }: LimitOptions): Partial<Limits> {
  const changed = Object.entries(limits).map(([name, limit]) => [name, limit === 'none' ? null : limit])
  return { ...Object.fromEntries(changed), ...(duplicateWindowSeconds !== undefined && { duplicateWindowSeconds }) }
}

type OutcomeOptions = { sent?: string; notSent?: boolean; reason: string }

function printDecided(row: WithdrawalView, { json, note }: Json & { note: string }): void {
  const { id, status, amount } = row
  print(row, { json, shown: { id, status, amount: inReais(amount) }, note })
}

function toLine({ id, clientId, status, hold, amount, feeAmount, pixKey, createdAt }: WithdrawalView) {
  const reais = { amount: inReais(amount), feeAmount: inReais(feeAmount ?? 0) }
  return { id, clientId, status, hold, ...reais, pixKey: pixKey.key, createdAt }
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

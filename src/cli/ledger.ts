import type { Command } from 'commander'
import type { By } from '../audit/record.ts'
import { countLedger } from '../ledger/operator-store.ts'
import {
  assertChecked,
  freezePayoutsAlso,
  type PayoutFreezeView,
  releasePayouts,
  showPayoutFreeze,
  stopPayouts,
} from '../ledger/payout-freeze.ts'
import type { Breach } from '../ledger/verify.ts'
import { findBreaches } from '../verification.ts'
import { reviewAfterLostCommits } from '../withdrawals/store.ts'
import { toShortText } from './arguments.ts'
import { byOf, type Context, withContext } from './context.ts'
import { entryCommands } from './ledger-entry.ts'
import { moveCommands } from './move.ts'
import { print, write } from './print.ts'

type Json = { json?: boolean }

/** `guiche ledger …`: verification of the ledger, the payout freeze, and the operator's own money. */
export function ledgerCommands(program: Command): void {
  const ledger = program.command('ledger')

  ledger
    .command('verify')
    .description('verify the ledger; exits with 1 if anything is wrong')
    .option('--json', 'print JSON')
    .action(async ({ json }: Json) => {
      const found = await withContext(async ({ db }) => ({
        ...(await countLedger(db)),
        breaches: await findBreaches(db),
        payoutFreeze: await showPayoutFreeze(db),
      }))
      if (json) print({ ...found, agree: found.breaches.length === 0 }, { json })
      else write(describe(found))
      if (found.breaches.length > 0) process.exitCode = 1
    })

  ledger
    .command('stop')
    .description('freeze withdrawals and refunds; incoming payments are not affected')
    .requiredOption('--reason <reason>', 'why, for the person who releases the freeze', toShortText)
    .option(
      '--restored',
      'the database was restored from a backup: what it shows as not sent may have been sent, and waits for a person',
    )
    .option('--json', 'print JSON')
    .action(async ({ json, reason, restored }: Json & { reason: string; restored?: boolean }) => {
      const stop = restored ? stopRestored : stopPayouts
      const stopped = await withContext(async (context) => await stop(context, { reason, by: byOf(program) }))
      const { payoutFreeze, isNew } = stopped
      if (payoutFreeze && !isNew && !restored)
        throw new Error(`Withdrawals and refunds are already frozen, since ${describePayoutFreeze(payoutFreeze)}`)
      print(stopped, { json, shown: { stopped: payoutFreeze?.engagedAt, reason }, note: stopNote })
    })

  ledger
    .command('release')
    .description('end the payout freeze after a ledger breach or a stop')
    .option('--force', 'even if the ledger still has breaches')
    .option('--checked', 'after the database lost commits: what the command lists has been checked')
    .option('--json', 'print JSON')
    .action(async ({ json, force, checked }: Json & { force?: boolean; checked?: boolean }) => {
      const released = await withContext(async (context) => {
        const engaged = await showPayoutFreeze(context.db)
        if (!engaged) return null
        // Before the verification, which may take minutes.
        assertChecked(engaged, checked ?? false)
        const breaches = await findBreaches(context.db)
        if (breaches.length > 0 && !force) throw new Error(refuseRelease(engaged, breaches))
        return await releasePayouts(context, {
          breaches: breaches.length,
          isChecked: checked ?? false,
          engagedAt: engaged.engagedAt,
          reasonLength: engaged.reason.length,
          by: byOf(program),
        })
      })
      if (!released) print({ released }, { json, shown: { released: 'nothing: payouts were not frozen' } })
      else
        print(
          { released },
          {
            json,
            shown: {
              released: 'withdrawals and refunds',
              'frozen since': released.engagedAt,
              because: released.reason,
            },
            note: force
              ? 'If the ledger still has breaches, the service freezes payouts again at its next verification, within five minutes. Fix them.'
              : 'Waiting payouts are sent automatically within minutes. No restart is needed.',
          },
        )
    })

  entryCommands(program, ledger)
  moveCommands(program, ledger)
}

/** Freezes the payouts of a restored database, also if they are frozen already, and has withdrawals reviewed. */
async function stopRestored({ db, clock }: Pick<Context, 'db' | 'clock'>, { reason, by }: { reason: string; by: By }) {
  return await db.transaction(async (tx) => {
    const now = clock.now()
    const isNew = await freezePayoutsAlso(tx, { reason, by, now })
    await reviewAfterLostCommits(tx, now)
    return { payoutFreeze: await showPayoutFreeze(tx), isNew }
  })
}

const stopNote = 'Incoming payments are not affected. `npx guiche ledger release` ends the freeze.'

type Found = { merchants: number; transfers: number; breaches: Breach[]; payoutFreeze: PayoutFreezeView | null }

function describe({ merchants, transfers, breaches, payoutFreeze }: Found): string {
  const size = `${count(transfers, 'transfer')} of ${count(merchants, 'merchant')}`
  const stopped = payoutFreeze
    ? `\nWithdrawals and refunds are frozen, since ${describePayoutFreeze(payoutFreeze)}\n`
    : ''
  if (breaches.length === 0) return `the ledger is consistent: ${size}\n${stopped}`
  return `the ledger is not consistent: ${count(breaches.length, 'breach')} in ${size}\n\n${listBreaches(breaches)}\n${stopped}`
}

function count(number: number, what: string): string {
  const ending = number === 1 ? '' : what.endsWith('ch') ? 'es' : 's'
  return `${number.toLocaleString('en')} ${what}${ending}`
}

function describePayoutFreeze({ engagedAt, reason }: PayoutFreezeView): string {
  return `${engagedAt} (${reason}). \`npx guiche ledger release\` ends the freeze.`
}

function refuseRelease(payoutFreeze: PayoutFreezeView, breaches: Breach[]): string {
  return [
    `The ledger still has breaches, so nothing is released. Payouts are frozen since ${payoutFreeze.engagedAt}: ${payoutFreeze.reason}`,
    listBreaches(breaches),
    'Fix them first by posting correcting transfers, or release with --force.',
  ].join('\n')
}

/** Fits a screen or two. */
const listedMax = 50

function listBreaches(breaches: Breach[]): string {
  const lines = breaches.slice(0, listedMax).map(({ rule, merchantId, recordId, detail }) => {
    const where = [merchantId && `merchant ${merchantId}`, recordId && `record ${recordId}`].filter(Boolean).join(', ')
    return `  ${rule}: ${detail}${where && ` (${where})`}`
  })
  const more = breaches.length - listedMax
  if (more > 0) lines.push(`  … and ${more} more: \`npx guiche ledger verify --json\` lists them all`)
  return lines.join('\n')
}

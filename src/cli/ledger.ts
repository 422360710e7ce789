import type { Command } from 'commander'
import { findBreaches } from '../books.ts'
import { engageBrake, releaseBrake } from '../ledger/brake.ts'
import { countBooks } from '../ledger/operator-store.ts'
import { type BrakeRow, findEngagedBrake } from '../ledger/store.ts'
import type { Breach } from '../ledger/verify.ts'
import { actionOf, recorded } from './actor.ts'
import { toReason } from './arguments.ts'
import { withContext } from './context.ts'
import { entryCommands } from './ledger-entry.ts'
import { print, write } from './print.ts'

type Json = { json?: boolean }

/** `guiche ledger …`: verification of the ledger, the payout freeze, and the operator's own money. */
export function ledgerCommands(program: Command): void {
  const ledger = program
    .command('ledger')
    .description('verify the ledger, freeze and release payouts, and post the operator’s entries')

  ledger
    .command('verify')
    .description('verify the ledger; exits with 1 if anything is wrong')
    .option('--json', 'print JSON')
    .action(async ({ json }: Json) => {
      const found = await withContext(async ({ db }) => ({
        ...(await countBooks(db)),
        breaches: await findBreaches(db),
        brake: await findEngagedBrake(db),
      }))
      if (json) print({ ...found, agree: found.breaches.length === 0, brake: toBrakeView(found.brake) }, { json })
      else write(describe(found))
      if (found.breaches.length > 0) process.exitCode = 1
    })

  ledger
    .command('stop')
    .description('freeze withdrawals and refunds; incoming payments are not affected')
    .requiredOption('--reason <reason>', 'why, for the person who releases the freeze', toReason)
    .option('--json', 'print JSON')
    .action(async ({ json, reason }: Json & { reason: string }) => {
      const brake = await withContext(async (context) => {
        const before = await findEngagedBrake(context.db)
        if (before) throw new Error(`Withdrawals and refunds are already frozen, since ${describeBrake(before)}`)
        const action = { action: 'ledger.stop' as const, details: { reason } }
        await recorded(program, context, action).transaction(
          async (tx) => await engageBrake(tx, { reason, now: context.clock.now() }),
        )
        return await findEngagedBrake(context.db)
      })
      print({ stopped: toBrakeView(brake) }, { json, shown: { stopped: brake?.engaged_at, reason }, note: stopNote })
    })

  ledger
    .command('release')
    .description('end the payout freeze after a ledger breach or a stop')
    .option('--force', 'even if the ledger still has breaches')
    .option('--json', 'print JSON')
    .action(async ({ json, force }: Json & { force?: boolean }) => {
      const brake = await withContext(async (context) => {
        const engaged = await findEngagedBrake(context.db)
        if (!engaged) return null
        const breaches = await findBreaches(context.db)
        if (breaches.length > 0 && !force) throw new Error(refuseRelease(engaged, breaches))
        const details = { reason: engaged.reason, breaches: breaches.length }
        const { actor, now } = actionOf(program, context, { action: 'ledger.release' })
        await recorded(program, context, { action: 'ledger.release', details }).transaction(
          async (tx) => await releaseBrake(tx, { by: actor, now }),
        )
        return engaged
      })
      if (!brake) print({ released: null }, { json, shown: { released: 'nothing: payouts were not frozen' } })
      else
        print(
          { released: toBrakeView(brake) },
          {
            json,
            shown: { released: 'withdrawals and refunds', 'frozen since': brake.engaged_at, because: brake.reason },
            note: force
              ? 'If the ledger still has breaches, the service freezes payouts again at its next verification, within five minutes. Fix them.'
              : 'Waiting payouts are sent automatically within minutes. No restart is needed.',
          },
        )
    })

  entryCommands(program, ledger)
}

const stopNote = 'Incoming payments are not affected. `npx guiche ledger release` ends the freeze.'

type Found = { merchants: number; transfers: number; breaches: Breach[]; brake: BrakeRow | null }

function describe({ merchants, transfers, breaches, brake }: Found): string {
  const size = `${count(transfers, 'transfer')} of ${count(merchants, 'merchant')}`
  const stopped = brake ? `\nWithdrawals and refunds are frozen, since ${describeBrake(brake)}\n` : ''
  if (breaches.length === 0) return `the ledger is consistent: ${size}\n${stopped}`
  return `the ledger is not consistent: ${count(breaches.length, 'breach')} in ${size}\n\n${listBreaches(breaches)}\n${stopped}`
}

function count(number: number, what: string): string {
  const ending = number === 1 ? '' : what.endsWith('ch') ? 'es' : 's'
  return `${number.toLocaleString('en')} ${what}${ending}`
}

function describeBrake({ engaged_at, reason }: BrakeRow): string {
  return `${engaged_at.toISOString()} (${reason}). \`npx guiche ledger release\` ends the freeze.`
}

function refuseRelease(brake: BrakeRow, breaches: Breach[]): string {
  return [
    `The ledger still has breaches, so nothing is released. Payouts are frozen since ${brake.engaged_at.toISOString()}: ${brake.reason}`,
    listBreaches(breaches),
    'Fix them first by posting correcting transfers, or release with --force.',
  ].join('\n')
}

/** Fits a screen or two; --json lists all. */
const listedMax = 50

function listBreaches(breaches: Breach[]): string {
  const lines = breaches.slice(0, listedMax).map(({ rule, merchantId, recordId, detail }) => {
    const where = [merchantId && `merchant ${merchantId}`, recordId && `record ${recordId}`].filter(Boolean).join(', ')
    return `  ${rule}: ${detail}${where && ` (${where})`}`
  })
  if (breaches.length > listedMax) lines.push(`  … and ${breaches.length - listedMax} more: --json lists them all`)
  return lines.join('\n')
}

function toBrakeView(brake: BrakeRow | null) {
  return brake && { since: brake.engaged_at, reason: brake.reason }
}

import { type Command, Option } from 'commander'
import { readConfig } from '../config.ts'
import { postEntry } from '../entries/post.ts'
import { type ManualAccount, manualAccounts, proposeEntryOnce } from '../entries/propose.ts'
import { listEntries, sumFees } from '../entries/store.ts'
import type { WrittenType } from '../ledger/accounts.ts'
import { findClearingBalances } from '../ledger/clearing-store.ts'
import { inReais } from '../lib/money.ts'
import { newUuid } from '../lib/secrets.ts'
import { type EntryView, toEntryView } from '../operator/entries.ts'
import { listComparedBalances } from '../reconciliation/balance-store.ts'
import { knowsAcquirer } from './acquirer-settings.ts'
import { toCentsAboveZero, toReference, toShortText } from './arguments.ts'
import { findMerchant } from './client.ts'
import { byOf, type Context, withContext } from './context.ts'
import { print } from './print.ts'

type Json = { json?: boolean }
type EntryOptions = Json & {
  client?: string
  acquirer?: string
  amount: number
  reference?: string
  description: string
  key?: string
}

const listedMax = 200

/** `guiche ledger draw-fees`, …: the operator's entries. An entry moves no money: you move it at the PSP. */
export function entryCommands(program: Command, ledger: Command): void {
  ledger
    .command('accounts')
    .description('what each acquirer must hold according to the ledger, and the fees that the operator can draw')
    .option('--json', 'print JSON')
    .action(async ({ json }: Json) => {
      const { balances, fees, compared } = await withContext(async ({ db }) => ({
        balances: await findClearingBalances(db),
        fees: await sumFees(db),
        compared: await listComparedBalances(db),
      }))
      const acquirers = [...balances].map(([acquirer, cents]) => {
        const balance = compared.find((one) => one.acquirer === acquirer)
        return { acquirer, cents, difference: balance?.difference ?? null, comparedAt: balance?.at ?? null }
      })
      const shown = acquirers.map(({ acquirer, cents, difference, comparedAt }) => [
        `held by ${acquirer}`,
        inReais(cents) + (difference === null ? '' : `, the PSP reports ${describe(difference)} (${comparedAt})`),
      ])
      print({ acquirers, fees }, { json, shown: { ...Object.fromEntries(shown), 'fees to draw': inReais(fees) } })
    })

  const command = (name: string, description: string, client: 'required' | 'optional' | 'none') => {
    const one = ledger.command(name).description(description)
    if (client === 'required') one.requiredOption('--client <client-id>', 'whose')
    if (client === 'optional') one.option('--client <client-id>', 'the client; without it, the operator’s own money')
    return one
      .option('--acquirer <name>', 'the PSP that has the money; required if there are several')
      .requiredOption('--amount <cents>', 'how much', toCentsAboveZero)
      .requiredOption(
        '--description <text>',
        'what it is for: shown to the operator and, with --client, in the merchant’s statement',
        toShortText,
      )
      .option('--key <key>', 'idempotency key: the same key again posts nothing')
      .option('--json', 'print JSON')
  }
  const reference = '--reference <id>'

  command('draw-fees', 'post fees that the operator takes out of the account at the PSP', 'none')
    .option(
      reference,
      'the endToEndId of the payout; without it reconciliation recognizes the payout by its amount',
      toReference,
    )
    .action(async (options: EntryOptions) => await addEntry(program, 'fee_draw', options))
  command('pay-in', 'post money that was paid into the account at the PSP from outside, such as by a TED', 'optional')
    .option(reference, 'its reference in the PSP’s account statement', toReference)
    .action(async (options: EntryOptions) => await addEntry(program, 'pay_in', options))
  command(
    'write-off',
    'write off a part of what a merchant owes, at the expense of the operator’s fees',
    'required',
  ).action(async (options: EntryOptions) => await addEntry(program, 'write_off', options))
  command('psp-fee', 'post what a PSP charged the operator, at the expense of the operator’s fees', 'none')
    .option(reference, 'its reference in the PSP’s account statement', toReference)
    .action(async (options: EntryOptions) => await addEntry(program, 'psp_fee', options))

  command('entry', 'propose a manual entry, which another person has to approve', 'optional')
    .addOption(account('--debit <account>', 'the account to debit'))
    .addOption(account('--credit <account>', 'the account to credit; `acquirer` is what the PSP holds'))
    .action(
      async ({ json, debit, credit, ...options }: EntryOptions & { debit: ManualAccount; credit: ManualAccount }) => {
        const { amount, description, key = newUuid() } = options
        const { proposal, isReplay } = await withContext(async (context) => {
          const merchantId = options.client === undefined ? null : await findMerchant(context, options.client)
          const acquirer = await findAcquirer(context, options.acquirer)
          const by = byOf(program)
          return await proposeEntryOnce(context, { merchantId, acquirer, amount, debit, credit, description, by, key })
        })
        const { id, state, content } = proposal
        const notes = [
          ...(isReplay ? [`It was already proposed under this key: it is ${state}.`] : []),
          ...(state === 'open' ? [`Another person must approve it: \`npx guiche proposal approve ${id}\`.`] : []),
        ]
        print({ id, state, ...content, isReplay }, { json, note: notes.join(' ') })
      },
    )

  ledger
    .command('entries')
    .description('list the operator’s newest entries, 200 at most')
    .option('--client <client-id>', 'only those of one client')
    .option('--json', 'print JSON')
    .action(async ({ json, client }: Json & { client?: string }) => {
      const rows = await withContext(async (context) => {
        const merchantId = client === undefined ? null : await findMerchant(context, client)
        return await listEntries(context.db, { merchantId, limit: listedMax })
      })
      const entries = rows.map(toEntryView)
      print(entries, { json, shown: entries.map(toShown) })
    })
}

async function addEntry(
  program: Command,
  type: Exclude<WrittenType, 'manual_entry'>,
  options: EntryOptions,
): Promise<void> {
  const { json, amount, reference = null, description, key = newUuid() } = options
  const { entry, isReplay } = await withContext(async (context) => {
    const merchantId = options.client === undefined ? null : await findMerchant(context, options.client)
    const acquirer = await findAcquirer(context, options.acquirer)
    return await postEntry(context, {
      type,
      idempotencyKey: key,
      merchantId,
      clientId: options.client,
      acquirer,
      amount,
      reference,
      description,
      by: byOf(program),
    })
  })
  const view = toEntryView({ ...entry, client_id: options.client ?? null, client_name: null })
  print(
    { ...view, isReplay },
    {
      json,
      shown: toShown(view),
      note: isReplay ? 'It was already posted under this key.' : noteOn(type, options.client),
    },
  )
}

function describe(difference: number): string {
  if (difference === 0) return 'the same'
  return `${inReais(Math.abs(difference))} ${difference > 0 ? 'more' : 'less'}`
}

function account(flags: string, description: string): Option {
  return new Option(flags, description).choices(manualAccounts).makeOptionMandatory()
}

function noteOn(type: Exclude<WrittenType, 'manual_entry'>, client: string | undefined): string | undefined {
  switch (type) {
    case 'fee_draw':
      return 'No money was moved: move it at the PSP. Reconciliation recognizes that payout within three days.'
    case 'pay_in':
      return client === undefined ? undefined : 'If the merchant owed money, that was repaid first.'
    case 'write_off':
      return 'The merchant no longer owes it.'
    case 'psp_fee':
      return 'It was taken from the operator’s fees.'
  }
}

/**
 * The named acquirer; without a name, the only one in the ledger. A misspelled name is refused: its account would stay in
 * the ledger for ever.
 */
export async function findAcquirer({ db }: Context, name: string | undefined): Promise<string> {
  const names = [...(await findClearingBalances(db)).keys()]
  if (name !== undefined) {
    if (names.includes(name) || knowsAcquirer(readConfig(process.env))(name)) return name
    throw new Error(`There is no acquirer ${name}: neither the settings nor the ledger have it.`)
  }
  const [only] = names
  if (only !== undefined && names.length === 1) return only
  throw new Error(
    names.length === 0
      ? 'Give --acquirer: the ledger has none yet.'
      : `Give --acquirer, one of ${names.join(', ')}: the ledger has several.`,
  )
}

function toShown({ clientName: _, debit: _debit, credit: _credit, ...entry }: EntryView) {
  return { ...entry, amount: inReais(entry.amount) }
}

import { type Command, Option } from 'commander'
import { computeFee } from '../ledger/fees.ts'
import type { FeeOperation } from '../ledger/store.ts'
import { inReais } from '../lib/money.ts'
import { type FeeView, listFees, setFee } from '../operator/fees.ts'
import { toBasisPoints, toCents } from './arguments.ts'
import { findMerchant } from './client.ts'
import { byOf, withContext } from './context.ts'
import { print } from './print.ts'

type Json = { json?: boolean }
type Parts = { fixed?: number; basisPoints?: number; minimum?: number; maximum?: number; returnsPaymentFee?: boolean }

const operations: FeeOperation[] = ['transaction', 'refund', 'withdrawal']

/** `guiche fee …`: the fees of API clients. */
export function feeCommands(program: Command): void {
  const fee = program.command('fee')

  fee
    .command('set')
    .description('set the fee rule for one operation of a client; it replaces the former rule')
    .requiredOption('--client <client-id>', 'the client to charge')
    .addOption(
      new Option('--operation <operation>', 'what the fee is charged for').choices(operations).makeOptionMandatory(),
    )
    .option('--fixed <cents>', 'fixed part of each fee', toCents)
    .option('--basis-points <points>', 'part of the amount: 99 is 0.99 %, rounded half up to a cent', toBasisPoints)
    .option('--minimum <cents>', 'at least', toCents)
    .option('--maximum <cents>', 'at most', toCents)
    .option('--returns-payment-fee', 'for refunds: also return the fee of the payment, in proportion')
    .option('--json', 'print JSON')
    .action(
      async ({ json, client, operation, ...parts }: Json & Parts & { client: string; operation: FeeOperation }) => {
        if (Object.values(parts).every((part) => part === undefined))
          throw new Error(
            'Give at least one of --fixed, --basis-points, --minimum, --maximum and --returns-payment-fee. `--fixed 0` charges nothing.',
          )
        if (parts.returnsPaymentFee && operation !== 'refund')
          throw new Error('--returns-payment-fee applies to refunds only: use it with --operation refund.')
        const { fixed = 0, basisPoints = 0, minimum = 0, maximum = null, returnsPaymentFee = false } = parts
        if (maximum !== null && maximum < minimum) throw new Error('--maximum must not be below --minimum.')
        const rule = { fixed, basisPoints, minimum, maximum, returnsPaymentFee }
        const set = await withContext(async (context) => {
          const merchantId = await findMerchant(context, client)
          const rules = await setFee(context, { merchantId, operation, ...rule, by: byOf(program) })
          return rules.find((one) => one.operation === operation)
        })
        if (!set) throw new Error('The rule was set but not found.')
        const hundred = computeFee({ ...rule, basis_points: basisPoints }, 10_000)
        print(set, {
          json,
          shown: toShown(set),
          note: `In force from now on: for R$ 100,00 the fee is ${inReais(hundred)}. Earlier operations keep their fee.`,
        })
      },
    )

  fee
    .command('list')
    .description('list the rules in force')
    .option('--client <client-id>', 'only those of one client')
    .option('--all', 'also those no longer in force')
    .option('--json', 'print JSON')
    .action(async ({ json, client, all }: Json & { client?: string; all?: boolean }) => {
      const rules = await withContext(async (context) => {
        const merchantId = client === undefined ? null : await findMerchant(context, client)
        return await listFees(context, { merchantId, isAll: all ?? false })
      })
      print(rules, { json, shown: rules.map(toShown) })
    })
}

function toShown({ examples: _, ...rule }: FeeView) {
  return {
    ...rule,
    fixed: inReais(rule.fixed),
    basisPoints: `${rule.basisPoints} (${(rule.basisPoints / 100).toFixed(2)} %)`,
    minimum: inReais(rule.minimum),
    maximum: rule.maximum === null ? null : inReais(rule.maximum),
    returnsPaymentFee: rule.returnsPaymentFee ? 'yes' : 'no',
    isInForce: rule.isInForce ? 'yes' : 'no',
  }
}

import { type Command, InvalidArgumentError } from 'commander'
import { readConfig } from '../config.ts'
import { byOf } from './actor.ts'
import { withContext } from './context.ts'
import { print } from './print.ts'

type Options = { transactions: number; merchants?: number; days: number; seed: number; json?: boolean }

/** `guiche seed`: fills a database for measurements or for exploring. */
export function seedCommands(program: Command): void {
  program
    .command('seed')
    .description(
      'fill an empty database with generated merchants, transactions and their records; refuses any other database',
    )
    .requiredOption(
      '--transactions <number>',
      'number of transactions, from 100 to 100000000',
      toCount(100, 100_000_000),
    )
    .option(
      '--merchants <number>',
      'number of merchants (default: 1000, or fewer for few transactions)',
      toCount(3, 10_000),
    )
    .option('--days <number>', 'number of days, ending now', toCount(1, 3650), 90)
    .option('--seed <number>', 'the same number gives the same data', toCount(0, 2 ** 32 - 1), 1)
    .option('--json', 'print JSON, without progress')
    .action(async ({ json, ...given }: Options) => {
      const config = readConfig(process.env)
      const set = config.acquirersFile !== null ? 'ACQUIRERS_FILE' : 'SIMULATOR_URL'
      if (config.acquirersFile !== null || config.simulatorUrl !== null)
        throw new Error(`${set} is set: the seed only fills the simulated network in its own database. Unset it.`)
      const { seedDatabase } = await import('../seed/seed.ts')
      const merchants = given.merchants ?? Math.max(3, Math.min(1_000, Math.floor(given.transactions / 100)))
      const seeded = await withContext(async (context) => {
        const report = (line: string) => void (json || process.stderr.write(`${line}\n`))
        return await seedDatabase({ ...context, by: byOf(program), report }, { ...given, merchants })
      })
      const { onePercent, small, largest, ...done } = seeded
      print(seeded, {
        json,
        shown: { ...done, 'one percent': describe(onePercent), small: describe(small), largest: describe(largest) },
        note: 'Start the service and get a token with one of these. `npx guiche ledger verify` verifies the ledger.',
      })
    })
}

function describe({
  clientId,
  clientSecret,
  transactions,
}: {
  clientId: string
  clientSecret: string
  transactions: number
}) {
  return `${transactions.toLocaleString('en')} transactions, client id ${clientId}, secret ${clientSecret}`
}

function toCount(least: number, most: number): (text: string) => number {
  return (text) => {
    const number = Number(text)
    if (!/^\d+$/.test(text) || number < least || number > most)
      throw new InvalidArgumentError(`A whole number from ${least} to ${most}.`)
    return number
  }
}

import { parseArgs } from 'node:util'
import { withContext, withDatabase } from '../../src/cli/context.ts'
import { seedDatabase } from './seed.ts'

const usage = `npm run seed -- --transactions 1000000 [--merchants N] [--days 90]
Fills the empty database of DATA_DIR or DATABASE_URL; bench/README.md says with what. N is one per 100 transactions,
from 3 to 1000, by default.`

const { values } = parseArgs({
  options: {
    transactions: { type: 'string', default: '' },
    merchants: { type: 'string' },
    days: { type: 'string', default: '90' },
  },
})
const transactions = toCount('--transactions', values.transactions, { min: 100, max: 100_000_000 })
const merchantsDefault = Math.max(3, Math.min(1_000, Math.floor(transactions / 100)))
const merchants = toCount('--merchants', values.merchants ?? String(merchantsDefault), { min: 3, max: 10_000 })
const days = toCount('--days', values.days, { min: 1, max: 3_650 })
// No service has run on an empty database yet, so it has no schema.
await withDatabase('migrate', async () => {})
const seeded = await withContext(async (context) => await seedDatabase(context, { transactions, merchants, days }))
process.stdout.write(`${JSON.stringify(seeded, null, 2)}\n`)

function toCount(name: string, text: string, { min, max }: { min: number; max: number }): number {
  const number = Number(text)
  if (/^\d+$/.test(text) && number >= min && number <= max) return number
  process.stderr.write(`${name} must be a whole number from ${min} to ${max}, not "${text}".\n\n${usage}\n`)
  process.exit(2)
}

import { type Bench, type Measured, measure, toRow } from '../bench.ts'
import { type Job, toRequest } from '../load/job.ts'
import { median, toMs } from '../results.ts'
import {
  fetchToken,
  makeDataDir,
  removeDataDir,
  type Service,
  seedFolder,
  startService,
  untilQuiet,
} from '../service.ts'

type Shown = {
  createdAt: string
  amount: number
  customer?: { name: string; email: string; document: { value: string } }
}
type Listed = { total: number; totalPages: number; data: Shown[]; nextCursor: string | null }

/** A service with a filled database, and the lists of the merchant that has one percent of all transactions: `own`. */
type Filled = {
  size: number
  own: number
  service: Service
  lists: Map<string, { query: Record<string, string>; found: number }>
  token: string
  close(): Promise<void>
}

const small = 10_000
const ratioMax = 1.5
const perPageMax = 20

/**
 * Pages of at most twenty with exact totals, one request at a time; with `--full` alternating between a small database
 * and large ones.
 */
export async function lists(bench: Bench): Promise<void> {
  const { results, isFull, rounds, say } = bench
  const few = await fill(bench, small)
  try {
    if (!isFull) results.skip('lists at 1 M and 10 M transactions', 'with --full')
    for (const size of isFull ? [1_000_000, 10_000_000] : [small]) {
      const many = size === small ? few : await fill(bench, size)
      try {
        const seen = new Map<string, { few: Measured[]; many: Measured[] }>()
        for (let round = 1; round <= rounds; round += 1) {
          say(`lists at ${size.toLocaleString('en')} transactions, round ${round} of ${rounds}`)
          for (const name of many.lists.keys()) {
            const both = seen.get(name) ?? { few: [], many: [] }
            const perPage = perPageOf(few, many, name)
            if (many !== few) both.few.push(await measureList(few, name, perPage))
            both.many.push(await measureList(many, name, perPage))
            seen.set(name, both)
          }
        }
        show(bench, few, many, seen)
      } finally {
        if (many !== few) await many.close()
      }
    }
  } finally {
    await few.close()
  }
}

/**
 * As many items as both have: each item includes its QR code, so a page of two cannot be compared with one of twenty.
 */
function perPageOf(few: Filled, many: Filled, name: string): number {
  const found = [few, many].map(({ lists }) => lists.get(name)?.found ?? 0)
  return Math.max(1, Math.min(perPageMax, ...found))
}

function show(
  { results, isFull }: Bench,
  few: Filled,
  many: Filled,
  seen: Map<string, { few: Measured[]; many: Measured[] }>,
): void {
  const number = (count: number) => count.toLocaleString('en')
  results.section(
    `Lists of ${number(many.size)} transactions`,
    `Pages of at most twenty, for a merchant that has ${number(many.own)} of them, with the exact total, over one connection to one process.`,
  )
  const p50 = (reports: Measured[]) => median(reports.map((report) => toMs(report, 50)))
  for (const [name, both] of seen) {
    const ratio = p50(both.many) / p50(both.few)
    const perPage = perPageOf(few, many, name)
    const notes = [
      ...(perPage < perPageMax ? [`pages of ${perPage}`] : []),
      ...(both.few.length > 0 ? [`p50 ${ratio.toFixed(2)} × that of ${number(few.size)}`] : []),
    ]
    results.row(toRow(name, both.many, notes.join('; ')))
    if (isFull && many.size === 10_000_000) {
      results.target({
        name: `list (${name}), p50 in ${number(many.size)} rows, relative to ${number(few.size)}`,
        kind: 'at most',
        wanted: ratioMax,
        seen: ratio,
        unit: '×',
      })
    }
  }
}

async function measureList({ service, lists, token }: Filled, name: string, perPage: number): Promise<Measured> {
  const query = new URLSearchParams({ ...lists.get(name)?.query, perPage: String(perPage) })
  const job: Job = {
    port: service.port,
    connections: 1,
    seconds: 1,
    warmUpSeconds: 0.5,
    perSecond: null,
    requests: [toRequest({ method: 'GET', path: `/transaction?${query}`, token })],
    once: false,
    keep: null,
  }
  return await measure(service, job)
}

async function fill({ say }: Bench, size: number): Promise<Filled> {
  const dataDir = await makeDataDir()
  let service: Service | null = null
  const close = async () => {
    await service?.stop()
    await removeDataDir(dataDir)
  }
  try {
    const { onePercent } = await seedFolder(dataDir, { transactions: size, say })
    service = await startService({ dataDir })
    const token = await fetchToken(service.port, onePercent)
    say('waiting until the service has verified the ledger of the inserted transactions')
    await untilQuiet(service)
    return { size, own: onePercent.transactions, service, token, close, lists: await chooseLists(service, token) }
  } catch (error) {
    await close()
    throw error
  }
}

/** Filters that match many or few: customer, day and amount are those of a transaction in the middle of the list. */
async function chooseLists({ port }: Service, token: string): Promise<Filled['lists']> {
  const get = async (query: Record<string, string>): Promise<Listed> => {
    const answer = await fetch(`http://127.0.0.1:${port}/transaction?${new URLSearchParams(query)}`, {
      headers: { authorization: `Bearer ${token}` },
    })
    if (!answer.ok) throw new Error(`the list answered ${answer.status}: ${await answer.text()}`)
    return (await answer.json()) as Listed
  }
  const first = await get({})
  const middle = String(Math.ceil(first.totalPages / 2))
  const { data } = await get({ page: middle })
  const example = data.find(({ customer }) => customer)
  if (!example?.customer) throw new Error('no transaction of the seed has a customer')
  const { customer, amount } = example
  const at = Date.parse(example.createdAt)
  const day = 24 * 60 * 60_000
  const queries: Record<string, Record<string, string>> = {
    'no filter': {},
    'a common status': { status: 'PAID' },
    'a rare status': { status: 'BLOCKED' },
    document: { customerDocument: customer.document.value },
    'e-mail': { customerEmail: customer.email },
    'a full name': { customerName: customer.name },
    'a frequent word of names': { customerName: 'silva' },
    'a day': { startDate: new Date(at - day / 2).toISOString(), endDate: new Date(at + day / 2).toISOString() },
    'a range of amounts': { minAmount: String(Math.floor(amount * 0.9)), maxAmount: String(Math.ceil(amount * 1.1)) },
    'the page in the middle': { page: middle },
    'a cursor': { cursor: first.nextCursor ?? '' },
  }
  const lists: Filled['lists'] = new Map()
  for (const [name, query] of Object.entries(queries)) lists.set(name, { query, found: (await get(query)).total })
  return lists
}

import type { Cell, CellAddress } from '../lib/cell.ts'

type CellSummary = {
  cell: Cell
  address: string
  /**
   * unreachable: no usable answer in time. refused: the cell has another METRICS_TOKEN. other: the service at the
   * address is not this cell.
   */
  state: 'ok' | 'unreachable' | 'refused' | 'other'
  /** Null unless the state is ok. */
  figures: CellFigures | null
}

type CellFigures = {
  version: string
  arePayoutsFrozen: boolean
  suspense: number
  differences: number
  jobsGivenUp: number
  oldestDeliverySeconds: number
  otherCellPayments: number
  /** Per other cell, the sum of the balances that were moved to it, and of those that were moved from it. */
  moves: { direction: 'in' | 'out'; cell: Cell; cents: number }[]
}

type Settings = { cells: readonly CellAddress[]; metricsToken: string | null }

const timeoutMs = 3_000
/** The metrics of a cell are about a tenth of this. */
const bytesMax = 4 * 1024 * 1024

/** Reads what each cell's own metrics say. Nothing is kept, and nothing is changed. */
export async function readCells({ cells, metricsToken }: Settings): Promise<CellSummary[]> {
  return await Promise.all(cells.map(async (one) => ({ ...one, ...(await readCell(one, metricsToken)) })))
}

async function readCell(
  { cell, address }: CellAddress,
  token: string | null,
): Promise<Pick<CellSummary, 'state' | 'figures'>> {
  const text = await fetchMetrics(`${address}/metrics`, token)
  if (text === null || text === 'refused') return { state: text ?? 'unreachable', figures: null }
  const samples = parseMetrics(text)
  const info = samples.find(({ name }) => name === 'guiche_cell_info')
  if (info?.labels.cell !== cell) return { state: 'other', figures: null }
  return { state: 'ok', figures: toFigures(samples, info.labels.version ?? '') }
}

async function fetchMetrics(url: string, token: string | null): Promise<string | null> {
  try {
    const answer = await fetch(url, {
      headers: token === null ? {} : { authorization: `Bearer ${token}` },
      // A redirect could take the token elsewhere.
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs),
    })
    const text = await readText(answer)
    if (answer.status === 401 || answer.status === 403) return 'refused'
    return answer.ok ? text : null
  } catch {
    return null
  }
}

/** Null if it is too long. */
async function readText({ body }: Response): Promise<string | null> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body ?? []) {
    bytes += chunk.length
    // Leaving the loop cancels the download.
    if (bytes > bytesMax) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

type Sample = { name: string; labels: Record<string, string>; value: number }

/** The format of Prometheus, as our own services write it: no label of ours has a quote or a brace in its value. */
function parseMetrics(text: string): Sample[] {
  return text.split('\n').flatMap((line) => {
    const match = /^(\w+)(?:\{([^}]*)\})? (\S+)$/.exec(line)
    if (!match) return []
    const [, name = '', labels = '', value = ''] = match
    const pairs = [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, label, content]) => [label, content])
    return [{ name, labels: Object.fromEntries(pairs), value: Number(value) }]
  })
}

function toFigures(samples: Sample[], version: string): CellFigures {
  const samplesOf = (metric: string, labels: Record<string, string> = {}) =>
    samples.filter(
      ({ name, labels: own }) =>
        name === metric && Object.entries(labels).every(([label, content]) => own[label] === content),
    )
  const sum = (...query: Parameters<typeof samplesOf>) =>
    samplesOf(...query).reduce((total, { value }) => total + value, 0)
  return {
    version,
    arePayoutsFrozen: sum('guiche_payouts_stopped') > 0,
    suspense: sum('guiche_suspense_payments', { status: 'held' }),
    differences: sum('guiche_reconciliation_differences_open'),
    jobsGivenUp: sum('guiche_jobs_given_up'),
    oldestDeliverySeconds: sum('guiche_webhook_deliveries_oldest_due_seconds'),
    otherCellPayments: sum('guiche_other_cell_payments'),
    moves: samplesOf('guiche_moved_cents').map(({ labels: { direction, cell = '' }, value: cents }) => ({
      direction: direction === 'in' ? 'in' : 'out',
      cell,
      cents,
    })),
  }
}

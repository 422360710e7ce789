import { percentile } from './load/histogram.ts'
import type { Report } from './load/job.ts'
import { describeMachine } from './machine.ts'

/** One figure per round, or a single one for a case without rounds. */
export type Series = number[]

export type Row = {
  name: string
  /** In `unit`; `/s` is operations per second. */
  values: Series
  unit: string
  p50Ms?: Series
  p99Ms?: Series
  /** Microseconds of processor time per operation. */
  guicheMicros?: Series
  postgresMicros?: Series
  loadMicros?: Series
  note?: string
}

export type Table = { title: string; text: string; columns: string[]; rows: string[][] }

type Target = { name: string; kind: 'at least' | 'at most'; wanted: number; seen: number; unit: string }

export type Results = {
  section(title: string, text: string): void
  row(row: Row): void
  /** A section with columns of its own. */
  table(table: Table): void
  /** Compares with the case's target. A missed target is shown, and does not fail the run. */
  target(target: Target): void
  /** A measurement that was not possible, and why. */
  skip(name: string, reason: string): void
  toMarkdown(): string
}

export function createResults(): Results {
  const startedAt = new Date()
  const sections: { title: string; text: string; rows: Row[]; lines?: string[] }[] = []
  const targets: Target[] = []
  const skipped: string[] = []
  return {
    section: (title, text) => void sections.push({ title, text, rows: [] }),
    row: (row) => void sections.at(-1)?.rows.push(row),
    table: ({ title, text, columns, rows }) =>
      void sections.push({ title, text, rows: [], lines: toLines(columns, rows) }),
    target: (target) => void targets.push(target),
    skip: (name, reason) => void skipped.push(`- ${name}: ${reason}`),
    toMarkdown: () =>
      [
        '# Benchmark results',
        '',
        describeMachine(startedAt),
        '',
        ...(targets.length > 0
          ? ['## Targets', '', '| case | target | measured | |', '|---|---|---|---|', ...targets.map(toTargetLine), '']
          : []),
        ...sections.flatMap(({ title, text, rows, lines }) => [
          `## ${title}`,
          '',
          text,
          '',
          ...(lines ?? toTable(rows)),
          '',
        ]),
        ...(skipped.length > 0 ? ['## Not measured', '', ...skipped, ''] : []),
      ].join('\n'),
  }
}

function toTargetLine({ name, kind, wanted, seen, unit }: Target): string {
  const isReached = kind === 'at least' ? seen >= wanted : seen <= wanted
  const shown = (value: number) => `${toNumber(value)}${unit && ` ${unit}`}`
  const verdict = isReached ? 'reached' : `**missed: ${shown(seen)}, target ${shown(wanted)}**`
  return `| ${name} | ${kind} ${shown(wanted)} | ${shown(seen)} | ${verdict} |`
}

function toTable(rows: Row[]): string[] {
  const columns: { title: string; cell: (row: Row) => string | undefined }[] = [
    { title: 'case', cell: (row) => row.name },
    { title: 'median', cell: (row) => `${toNumber(median(row.values))} ${row.unit}` },
    {
      title: 'spread',
      cell: ({ values }) =>
        values.length > 1 ? `${toNumber(Math.min(...values))}–${toNumber(Math.max(...values))}` : '',
    },
    { title: 'p50 ms', cell: ({ p50Ms }) => p50Ms && toNumber(median(p50Ms)) },
    { title: 'p99 ms', cell: ({ p99Ms }) => p99Ms && toNumber(median(p99Ms)) },
    { title: 'µs Guichê', cell: ({ guicheMicros }) => guicheMicros && toNumber(median(guicheMicros)) },
    { title: 'µs PostgreSQL', cell: ({ postgresMicros }) => postgresMicros && toNumber(median(postgresMicros)) },
    { title: 'µs load', cell: ({ loadMicros }) => loadMicros && toNumber(median(loadMicros)) },
    { title: 'note', cell: (row) => row.note },
  ]
  // An empty column is left out.
  const used = columns.filter(({ cell }) => rows.some((row) => cell(row)))
  return toLines(
    used.map(({ title }) => title),
    rows.map((row) => used.map(({ cell }) => cell(row) ?? '')),
  )
}

function toLines(columns: string[], rows: string[][]): string[] {
  const line = (cells: string[]) => `| ${cells.join(' | ')} |`
  return [line(columns), line(columns.map(() => '---')), ...rows.map(line)]
}

export function median(values: Series): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2
}

export function toMs(report: Pick<Report, 'latency'>, percent: number): number {
  return percentile(report.latency, percent) / 1000
}

/** The errors of all reports, added up, as bold text. Undefined if there were none. */
export function toErrors(reports: Pick<Report, 'errors'>[]): string | undefined {
  const sums = new Map<string, number>()
  for (const { errors } of reports)
    for (const [reason, count] of Object.entries(errors)) sums.set(reason, (sums.get(reason) ?? 0) + count)
  return sums.size === 0
    ? undefined
    : `**errors: ${[...sums].map(([reason, count]) => `${count} × ${reason}`).join(', ')}**`
}

export function toNumber(value: number): string {
  if (Number.isNaN(value)) return 'none'
  if (value >= 100) return Math.round(value).toLocaleString('en')
  return value.toFixed(value >= 10 ? 1 : 2)
}

import { readFileSync } from 'node:fs'
import { Gauge, Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { alertKinds, conditionOf, findMet } from './conditions.ts'
import { screenOf, wordAlert } from './text.ts'

type Series = [labels: Record<string, string>, value: number]

/** The conditions that are met with this metric alone. */
async function metWith(name: string, series: Series[]) {
  const registry = new Registry()
  const labelNames = [...new Set(series.flatMap(([labels]) => Object.keys(labels)))]
  const gauge = new Gauge({ name, help: 'A metric', labelNames, registers: [registry] })
  for (const [labels, value] of series) gauge.set(labels, value)
  return (await findMet(registry)).met.map(({ kind, subject, value }) => [kind, JSON.parse(subject), value])
}

const hour = 3_600
const day = 24 * hour

it('compares the sum of what needs a decision, for each acquirer', async () => {
  const name = 'guiche_reconciliation_differences_open'
  const seriesOf = (acquirer: string, kind: string, count: number): Series => [{ acquirer, class: kind }, count]
  expect(
    await metWith(name, [seriesOf('one', 'amount', 2), seriesOf('one', 'fee', 1), seriesOf('other', 'late', 5)]),
  ).toEqual([['discrepancy_open', { acquirer: 'one' }, 3]])
})

it('keeps the deadlines of different days apart, also once they have passed', async () => {
  const name = 'guiche_disputes_deadline_in_seconds'
  const days = ['2026-11-20', '2026-11-21', '2026-11-22', '2026-11-30']
  const left = [-hour, 5 * hour, 2 * day, 9 * day]
  const series = days.map((day, index): Series => [{ day }, left[index] ?? 0])
  expect(await metWith(name, series)).toEqual([
    ['dispute_deadline_near', { day: '2026-11-20' }, -hour],
    ['dispute_deadline_near', { day: '2026-11-21' }, 5 * hour],
    ['dispute_deadline_near', { day: '2026-11-22' }, 2 * day],
    ['dispute_deadline', { day: '2026-11-20' }, -hour],
    ['dispute_deadline', { day: '2026-11-21' }, 5 * hour],
  ])
})

it('recognizes a freeze after a loss of the database, negative differences and an expired certificate', async () => {
  const since = '2026-11-20T12:00:00.000Z'
  expect(await metWith('guiche_payouts_stopped', [[{}, 0]])).toEqual([])
  expect(await metWith('guiche_payouts_stopped', [[{ since, reason: 'database_loss' }, 1]])).toEqual([
    ['payouts_frozen', { since }, 1],
    ['database_went_back', { since }, 1],
  ])
  expect(await metWith('guiche_acquirer_balance_difference_cents', [[{ acquirer: 'one' }, -5]])).toMatchObject([
    ['balance_differs', { acquirer: 'one' }, 5],
  ])
  const clocks: Series[] = [
    [{ host: 'one' }, -90],
    [{ host: 'other' }, 4],
  ]
  expect(await metWith('guiche_clock_ahead_seconds', clocks)).toEqual([['clock_differs', { host: 'one' }, 90]])
  const certificate = 'guiche_acquirer_certificate_expires_in_days'
  expect((await metWith(certificate, [[{ acquirer: 'one' }, -0.5]])).map(([kind]) => kind)).toEqual([
    'certificate_expires',
    'certificate_expired',
  ])
  expect(await metWith(certificate, [[{ acquirer: 'one' }, 31]])).toEqual([])
})

it('reports the conditions that cannot be read, beside those that are met', async () => {
  const registry = new Registry()
  const registers = [registry]
  const error = new Error('The statement took too long')
  const collect = () => Promise.reject(error)
  new Gauge({ name: 'guiche_payouts_stopped', help: 'It fails', registers, collect })
  new Gauge({ name: 'guiche_jobs_given_up', help: 'A metric', registers }).set(2)
  expect(await findMet(registry)).toEqual({
    met: [{ kind: 'job_given_up', subject: '{}', value: 2 }],
    unread: new Map([
      ['payouts_frozen', error],
      ['database_went_back', error],
    ]),
  })
})

describe.each(alertKinds)('%s', (kind) => {
  it('has words in both languages, with each label', () => {
    const { by = [], fact } = conditionOf(kind)
    const subject = JSON.stringify(Object.fromEntries(by.map((name) => [name, `a ${name}`])))
    const alert = { kind, subject, value: 7_200 }
    const [en, pt] = [wordAlert(alert, 'en'), wordAlert(alert, 'pt')]
    expect(pt.title).not.toBe(en.title)
    expect(pt.advice).not.toBe(en.advice)
    for (const worded of [en, pt]) {
      expect(worded.title).toMatch(/^\p{Lu}.*[^.]$/u)
      expect(worded.advice).toMatch(/\.$/)
      expect(worded.fact !== null).toBe(fact !== undefined)
      expect(Object.values(worded).join(' ')).not.toMatch(/[{}]|undefined/)
    }
    const { pathname, searchParams } = new URL(screenOf(alert), 'http://dashboard')
    expect(readFileSync('dashboard/src/screens.ts', 'utf8')).toContain(`paths: ['${pathname}'`)
    const tab = searchParams.get('tab')
    if (tab)
      expect(readFileSync('dashboard/src/screens/reconciliation/reconciliation.tsx', 'utf8')).toContain(`'${tab}'`)
  })
})

it('leaves out of the address what is the operator’s own', () => {
  const undelivered = { kind: 'report_undelivered' } as const
  expect(screenOf({ ...undelivered, subject: '{"client":""}' })).toBe('/month')
  expect(screenOf({ ...undelivered, subject: '{"client":"a shop"}' })).toBe('/month?client=a%20shop')
})

it('writes times and amounts as people read them', () => {
  const at = { subject: '{}', value: 26 * hour }
  expect(wordAlert({ ...at, kind: 'suspense_waits' }, 'en').fact).toBe('For 26 hours')
  expect(wordAlert({ ...at, kind: 'suspense_waits' }, 'pt').fact).toBe('Há 26 horas')
  expect(wordAlert({ ...at, value: 1.5, kind: 'suspense_waits' }, 'en').fact).toBe('For 1 second')
  const deadline = { subject: '{"day":"2026-11-20"}', kind: 'dispute_deadline' } as const
  expect(wordAlert({ ...deadline, value: 5 * hour }, 'en').fact).toBe('Time left: 5 hours')
  expect(wordAlert({ ...deadline, value: -hour }, 'en').fact).toBe('The deadline has passed')
  const certificate = { subject: '{"acquirer":"one"}', kind: 'certificate_expires' } as const
  expect(wordAlert({ ...certificate, value: 0 }, 'en').fact).toBe('Days left: 0')
  expect(wordAlert({ ...certificate, value: -3 }, 'en').fact).toBe('The deadline has passed')
  const clock = { subject: '{"host":"one"}', kind: 'clock_differs' } as const
  expect(wordAlert({ ...clock, value: 7 }, 'en').fact).toBe('Difference: 7 seconds')
  expect(wordAlert({ ...clock, value: 26 * hour }, 'pt').fact).toBe('Diferença: 26 horas')
  expect(wordAlert({ subject: '{}', value: 123_456, kind: 'balance_differs' }, 'pt').fact).toBe(
    'Diferença: R$\u00a01.234,56',
  )
})

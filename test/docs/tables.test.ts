import { readdirSync, readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { plain } from '../../simulator/quirks.ts'
import { type AlertKind, alertKinds, conditionOf } from '../../src/alerts/conditions.ts'
import { wordAlert } from '../../src/alerts/text.ts'
import { scopes } from '../../src/auth/scopes.ts'
import { apiErrors, otherErrors } from '../../src/lib/errors.ts'
import { transactionTransitions } from '../../src/transactions/status.ts'
import { merchantRoles, operatorRoles, permissions, permissionsOf } from '../../src/users/roles.ts'
import { withdrawalTransitions } from '../../src/withdrawals/status.ts'
import { blocksOf, documents, inlineOf, readDocument, rowsUnder } from '../support/documents.ts'
import { startTestService, type TestService } from '../support/service.ts'

/** Tables that repeat facts of the program: if they differ, one of them is wrong. */

/** The metrics in an expression of Prometheus; a histogram is its buckets, their count and their sum. */
const metricsIn = (expression: string) =>
  [...expression.matchAll(/\b(?:guiche|process|nodejs)_\w+/g)].map(([name]) =>
    name.replace(/_(?:bucket|count|sum)$/, ''),
  )

type Rule = {
  alert: string
  expr: string
  for?: string
  labels: { severity: string }
  annotations: { summary: string; description: string }
}

/** Rules without a message to people: their metrics differ between processes, or are compared over time. */
const onlyRules = [
  'GuicheMerchantsOwe',
  'GuicheAcquirerAway',
  'GuicheCallbacksRefused',
  'GuicheErrors',
  'GuicheDatabaseConnectionsShort',
  'GuicheStandbyBehind',
]

/** The rule for Prometheus with the condition of an alert. */
function toRule(kind: AlertKind): Rule {
  const { rule, severity, metric, where = {}, except = {}, by = [], combine = 'max', ...rest } = conditionOf(kind)
  const { isAbsolute, above, below, forSeconds } = rest
  const selectors = [
    ...Object.entries(where).map(([name, value]) => `${name}="${value}"`),
    ...Object.entries(except).map(([name, values]) => `${name}!~"${values.join('|')}"`),
  ]
  const series = metric + (selectors.length > 0 ? `{${selectors.join(',')}}` : '')
  const grouped = (how: string, labels: string[]) => how + (labels.length > 0 ? ` by (${labels.join(', ')}) ` : '')
  // Each service has the same series of the database.
  const combined =
    combine === 'sum'
      ? `${grouped('max', by)}(${grouped('sum', [...by, 'instance'])}(${series}))`
      : `${grouped(combine, by)}(${isAbsolute ? `abs(${series})` : series})`
  const limits = [...(above === undefined ? [] : [`> ${above}`]), ...(below === undefined ? [] : [`< ${below}`])]
  const subject = JSON.stringify(Object.fromEntries(by.map((name) => [name, `{{ $labels.${name} }}`])))
  const { title: summary, advice: description } = wordAlert({ kind, subject, value: 0 }, 'en')
  return {
    alert: rule,
    expr: [combined, ...limits].join(' '),
    ...(forSeconds !== undefined && { for: toDuration(forSeconds) }),
    labels: { severity },
    annotations: { summary, description },
  }
}

function toDuration(seconds: number): string {
  const [name, size] = (
    [
      ['d', 86_400],
      ['h', 3_600],
      ['m', 60],
    ] as const
  ).find(([, one]) => seconds % one === 0) ?? ['s', 1]
  return `${seconds / size}${name}`
}

const unique = (names: string[]) => [...new Set(names)].sort()

const codes = (cell = '') => [...cell.matchAll(/`([^`]+)`/g)].map(([, code]) => code)

describe('the tables of', () => {
  let service: TestService
  beforeAll(async () => {
    service = await startTestService()
  })
  afterAll(() => service.stop())

  it('metrics name exactly those of the service', async () => {
    const text = await (await fetch(`${service.baseUrl}/metrics`)).text()
    const names = [...text.matchAll(/^# TYPE (\w+) /gm)].map(([, name = '']) => name)
    const own = names.filter((name) => !/^(?:nodejs|process)_/.test(name))
    expect(rowsUnder('docs/monitoring.md', 'Metrics').flatMap(([name]) => codes(name))).toEqual(own.toSorted())
    // Alerts use existing metrics.
    const watched = rowsUnder('docs/monitoring.md', 'Alerts').flatMap(([on]) => codes(on))
    const mentioned = unique(watched.flatMap((code) => metricsIn(code ?? '')))
    expect(mentioned.length).toBeGreaterThan(10)
    expect(mentioned.filter((name) => !own.includes(name))).toEqual([])
    expect(own.filter((name) => !name.startsWith('guiche_'))).toEqual([])
    // So do the files for Prometheus and Grafana. Each alert on a metric is a rule, and each metric is on a dashboard.
    const rules = parse(readFileSync('deploy/monitoring/alerts.yaml', 'utf8')) as {
      groups: { rules: Rule[] }[]
    }
    const written = rules.groups.flatMap((group) => group.rules)
    const alerted = written.flatMap(({ expr }) => metricsIn(expr))
    expect(unique(alerted)).toEqual(mentioned)
    // What people are notified of has the same conditions, thresholds and words.
    for (const kind of alertKinds) {
      const rule = toRule(kind)
      expect(written.find(({ alert }) => alert === rule.alert)).toEqual(rule)
    }
    const others = written.filter(({ alert }) => !alertKinds.some((kind) => conditionOf(kind).rule === alert))
    expect(others.map(({ alert }) => alert)).toEqual(onlyRules)
    const shown = ['operation', 'money'].flatMap((name) => {
      const file = JSON.parse(readFileSync(`deploy/monitoring/${name}.json`, 'utf8')) as {
        panels: { targets: { expr: string }[] }[]
      }
      return file.panels.flatMap(({ targets }) => targets).flatMap(({ expr }) => metricsIn(expr))
    })
    expect(unique(shown.filter((name) => name.startsWith('guiche_')))).toEqual(own.toSorted())
    expect(shown.filter((name) => !names.includes(name))).toEqual([])
  })

  it('routes name exactly those of the API', () => {
    const { paths } = JSON.parse(readFileSync('docs/openapi.json', 'utf8')) as { paths: Record<string, object> }
    const routes = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    )
    expect(
      rowsUnder('docs/api.md', 'Routes')
        .flatMap(([cell]) => codes(cell))
        .toSorted(),
    ).toEqual(routes.toSorted())
  })
})

it.each([
  ['Codes', apiErrors],
  ['Codes of the dashboard', otherErrors],
])('errors have every code with its status and title: %s', (heading, errors) => {
  const rows = rowsUnder('docs/errors.md', heading).map(([status, code, title]) => [
    Number(status),
    ...codes(code),
    title,
  ])
  const known = Object.entries(errors).map(([code, { status, title }]) => [status, code, title])
  expect(rows.toSorted()).toEqual(known.toSorted())
})

it.each([
  ['Transactions', transactionTransitions],
  ['Withdrawals', withdrawalTransitions],
] as const)('statuses of %s have every transition', (heading, transitions) => {
  const rows = rowsUnder('docs/statuses.md', heading).map(([from, to]) => [codes(from)[0], codes(to)] as const)
  // Another table comes before that of transactions, and its header counts as a row.
  const written = rows.slice(rows.findLastIndex(([from]) => from === undefined) + 1)
  expect(Object.fromEntries(written)).toEqual(transitions)
})

it.each(['docs/dashboard.md', 'docs/pt/dashboard.md'])('roles have every permission in %s', (document) => {
  const table = (roles: typeof operatorRoles | typeof merchantRoles, isOperator: boolean) => {
    const all = roles.map((role) => permissionsOf({ role, isOperator }))
    const shown = [...scopes, ...permissions].filter((one) => all.some((granted) => granted.includes(one)))
    const row = (one: (typeof shown)[number]) =>
      `| \`${one}\` | ${all.map((granted) => (granted.includes(one) ? '✓ |' : '|')).join(' ')}`
    return [`| | ${roles.map((role) => `\`${role}\``).join(' | ')} |`, ...shown.map(row)]
  }
  const lines = readDocument(document).split('\n')
  for (const [roles, isOperator] of [
    [operatorRoles, true],
    [merchantRoles, false],
  ] as const) {
    const [head = '', ...rows] = table(roles, isOperator)
    const at = lines.indexOf(head)
    // To fix it, replace the table with the expected one here.
    expect(lines.slice(at + 2, lines.indexOf('', at))).toEqual(rows)
  }
})

it('the layout has every folder', () => {
  const [layout = ''] = blocksOf('docs/architecture.md').flatMap(({ text }) => (text.startsWith('src/ ') ? text : []))
  const named = new Set([...layout.matchAll(/(?<=^ {2}|\S {2,}|, )([a-z]+)(?=,| {2})/gm)].map(([name]) => name))
  const folders = readdirSync('src', { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? entry.name : [],
  )
  expect(folders.filter((folder) => !named.has(folder))).toEqual([])
})

it.each([
  ['en', 'docs/dashboard.md', '| screen | |'],
  ['pt', 'docs/pt/dashboard.md', '| tela | |'],
])('the screens of the dashboard in %s are those of its navigation', (language, document, head) => {
  const shell = readFileSync('dashboard/src/shell.tsx', 'utf8')
  const [, words = ''] = new RegExp(`${language}: \\{(.*?)\\n {4}account:`, 's').exec(shell) ?? []
  const names = [...words.matchAll(/: '(.*)',$/gm)].map(([, name]) => name)
  expect(names.length).toBeGreaterThan(10)
  const lines = readDocument(document).split('\n')
  const at = lines.indexOf(head)
  const written = lines.slice(at + 2, lines.indexOf('', at)).map((line) => line.split('|')[1]?.trim())
  expect(written).toEqual(names)
})

it('scopes have every scope', () => {
  const written = rowsUnder('docs/api.md', 'Token').flatMap(([cell]) => codes(cell))
  expect(written.toSorted()).toEqual(scopes.toSorted())
})

it('quirks have every quirk of the simulator', () => {
  const [, table = ''] = readDocument('docs/simulator.md').split('\n| quirk | |\n|---|---|\n')
  const [rows = ''] = table.split('\n\n')
  const written = rows.split('\n').flatMap((row) => codes(row.split('|')[1]))
  expect(written.toSorted()).toEqual(Object.keys(plain).toSorted())
})

describe.each(documents)('%s', (document) => {
  it('names only existing routes', () => {
    const { paths } = JSON.parse(readFileSync('docs/openapi.json', 'utf8')) as { paths: Record<string, object> }
    const pattern = (path: string) => `${path.replaceAll(/[.]/g, '\\.').replaceAll(/\{\w+\}/g, '[^/?]+')}(?:\\?.*)?`
    // Routes that no API client calls.
    const others = ['/docs', '/openapi\\.json', '/callbacks/.*']
    const known = new RegExp(`^(?:${[...Object.keys(paths).map(pattern), ...others].join('|')})$`)
    const named = inlineOf(document).flatMap((code) => /^(?:GET|POST|PUT|PATCH|DELETE) (\/\S*)$/.exec(code)?.[1] ?? [])
    // Requests to a PSP belong to another API.
    const ours = named.filter((path) => !/^\/(?:v2|oauth|cob|pix|webhook$|as\/)|…/.test(path))
    expect(ours.filter((path) => !known.test(path))).toEqual([])
  })

  it('names only existing settings', () => {
    const settings = new Set(
      [...readFileSync('.env.example', 'utf8').matchAll(/^([A-Z_]+)=/gm)].map(([, name]) => name),
    )
    const set = [...inlineOf(document), ...blocksOf(document).map(({ text }) => text)].flatMap((code) =>
      [...code.matchAll(/^([A-Z][A-Z_]+_[A-Z_]+)=/gm)].map(([, name]) => name),
    )
    // Variables of the shell in samples, and those of a merchant's developer.
    const others = /^(?:CLIENT_ID|CLIENT_SECRET|GUICHE_(?:URL|CLIENT_ID|CLIENT_SECRET|WEBHOOK_SECRET))$/
    expect(set.filter((name) => name && !settings.has(name) && !others.test(name))).toEqual([])
  })
})

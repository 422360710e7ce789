import type { Language } from '../lib/alert-settings.ts'
import { brasilia } from '../lib/brasilia.ts'
import { makePdf, type PdfColumn } from '../lib/pdf.ts'
import type { FeeLine, FeeStatement } from './fees.ts'
import { operationNames } from './names.ts'

const words = {
  en: {
    title: 'Fee statement',
    merchant: 'Merchant',
    period: 'Period',
    to: 'to',
    made: 'Made on',
    brasilia: '(Brasília)',
    columns: ['Operation', 'Agreed fee', 'Number', 'Volume', 'Fee'],
    total: 'Total',
    nothing: 'No fees in this period.',
    none: 'no fee',
    atLeast: 'at least',
    atMost: 'at most',
    note: 'Fees that were posted in this period, by the time of posting in Brasília. The total is the sum of the lines.',
  },
  pt: {
    title: 'Extrato de tarifas',
    merchant: 'Lojista',
    period: 'Período',
    to: 'a',
    made: 'Emitido em',
    brasilia: '(Brasília)',
    columns: ['Operação', 'Tarifa contratada', 'Quantidade', 'Volume', 'Tarifa'],
    total: 'Total',
    nothing: 'Nenhuma tarifa neste período.',
    none: 'sem tarifa',
    atLeast: 'no mínimo',
    atMost: 'no máximo',
    note: 'Tarifas lançadas no período: vale o momento do lançamento, no horário de Brasília. O total é a soma das linhas.',
  },
}

const columns: Omit<PdfColumn, 'name'>[] = [
  { width: 0.27 },
  { width: 0.27 },
  { width: 0.14, isAmount: true },
  { width: 0.17, isAmount: true },
  { width: 0.15, isAmount: true },
]

/** The fee statement as a document to print or to send. */
export async function writeFeesPdf({
  merchant,
  statement: { from, until, lines, total },
  language,
  now,
}: {
  merchant: { name: string }
  statement: FeeStatement
  language: Language
  now: Date
}): Promise<Buffer> {
  const t = words[language]
  const { money, number, day, moment } = pdfFormats(language)
  const title = `${t.title}: ${merchant.name}`
  const footer = `${merchant.name} · ${day(from)} ${t.to} ${day(until)}`
  return await makePdf({ title, author: 'Guichê', language, now, footer }, (page) => {
    page.title(t.title)
    page.space(10)
    page.facts([
      [t.merchant, merchant.name],
      [t.period, `${day(from)} ${t.to} ${day(until)}`],
      [t.made, `${moment(now)} ${t.brasilia}`],
    ])
    page.space(16)
    if (lines.length === 0) page.paragraph(t.nothing)
    else {
      const rows = lines.map((line) => [
        ...[operationNames[language][line.operation], line.volume === null ? '' : writeRule(line.rule, language)],
        ...[number(line.count), line.volume === null ? '' : money(line.volume), money(line.fee)],
      ])
      page.table(
        columns.map((column, index) => ({ ...column, name: t.columns[index] ?? '' })),
        [...rows, [t.total, '', '', '', money(total)]],
        { hasTotal: true },
      )
    }
    page.space(12)
    page.paragraph(t.note)
  })
}

function writeRule(rule: FeeLine['rule'], language: Language): string {
  const t = words[language]
  const { money, share } = pdfFormats(language)
  if (rule === null) return t.none
  const { fixed, basisPoints, minimum, maximum } = rule
  const parts = [fixed > 0 ? money(fixed) : '', basisPoints > 0 ? share(basisPoints / 10_000) : ''].filter(Boolean)
  const limits = [
    ...(minimum > 0 ? [`${t.atLeast} ${money(minimum)}`] : []),
    ...(maximum === null ? [] : [`${t.atMost} ${money(maximum)}`]),
  ]
  return [parts.join(' + ') || (minimum > 0 ? '' : t.none), ...limits].filter(Boolean).join(', ')
}

const locales = { en: 'en-GB', pt: 'pt-BR' } as const

/** How a document writes amounts, numbers, days and moments. */
export function pdfFormats(language: Language) {
  const locale = locales[language]
  const reais = new Intl.NumberFormat(locale, { style: 'currency', currency: 'BRL' })
  const share = new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 2 })
  const whole = new Intl.NumberFormat(locale)
  const days = new Intl.DateTimeFormat(locale, { dateStyle: 'short', timeZone: 'UTC' })
  const moments = new Intl.DateTimeFormat(locale, { dateStyle: 'short', timeStyle: 'medium', timeZone: brasilia })
  return {
    money: (cents: number) => reais.format(cents / 100),
    share: (part: number) => share.format(part),
    number: (value: number) => whole.format(value),
    day: (name: string) => days.format(new Date(name)),
    moment: (at: Date) => moments.format(at),
  }
}

import type { Language } from '../lib/alert-settings.ts'
import { pdfFormats } from './fees-pdf.ts'
import type { Period } from './period.ts'
import type { ScheduledReport } from './schedule-store.ts'

const words: Record<
  Language,
  {
    reports: Record<ScheduledReport, string>
    to: string
    attached: string
    tooLarge: string
    why: string
  }
> = {
  en: {
    reports: {
      transactions: 'Transactions',
      withdrawals: 'Withdrawals',
      statement: 'Statement',
      fees: 'Fee statement',
      closed_day: 'Closed day',
    },
    to: 'to',
    attached: 'The report is attached.',
    tooLarge: 'The report is too large for an e-mail. Download it from the page below.',
    why: 'You get this e-mail because somebody scheduled the report for you on the dashboard. You can pause or delete it there:',
  },
  pt: {
    reports: {
      transactions: 'Transações',
      withdrawals: 'Saques',
      statement: 'Extrato',
      fees: 'Extrato de tarifas',
      closed_day: 'Dia fechado',
    },
    to: 'a',
    attached: 'O relatório está em anexo.',
    tooLarge: 'O relatório é grande demais para um e-mail. Baixe-o na tela abaixo.',
    why: 'Você recebe este e-mail porque alguém agendou o relatório para você no painel. Lá ele pode ser pausado ou excluído:',
  },
}

/** The mail of a report: what it is, and where it can be paused. No figures: mail is read on many screens. */
export function writeReportMail({
  report,
  period: { from, until },
  language,
  merchantName,
  baseUrl,
  isTooLarge,
}: {
  report: ScheduledReport
  period: Period
  language: Language
  merchantName: string | null
  baseUrl: string
  isTooLarge: boolean
}): { subject: string; text: string } {
  const t = words[language]
  const { day } = pdfFormats(language)
  const days = from === until ? day(from) : `${day(from)} ${t.to} ${day(until)}`
  const subject = [`${t.reports[report]}, ${days}`, ...(merchantName === null ? [] : [merchantName])].join(' · ')
  const path = report === 'closed_day' ? '/reconciliation?tab=days' : `/month?month=${until.slice(0, 7)}`
  const text = [subject, isTooLarge ? t.tooLarge : t.attached, `${t.why} ${baseUrl}/dashboard${path}`].join('\n\n')
  return { subject, text }
}

import type { Language } from '../lib/alert-settings.ts'
import { brasilia } from '../lib/brasilia.ts'
import { type AlertKind, conditionOf, type Fact } from './conditions.ts'

type Texts = {
  /** What is wrong, and what to do. `{name}` is a label. The English ones are also those of the alert rules. */
  alerts: Record<AlertKind, [title: string, advice: string]>
  facts: Record<Fact, (value: string) => string>
  /** Instead of the time that is left. */
  passed: string
  states: Record<'opened' | 'lasts' | 'ended' | 'test', (title: string) => string>
  since: (at: string) => string
  lasted: (from: string, to: string) => string
  test: [title: string, advice: string]
}

const texts: Record<Language, Texts> = {
  en: {
    alerts: {
      payouts_frozen: [
        'Withdrawals and refunds are frozen',
        'The ledger has a discrepancy, the database lost commits or was restored, or an operator froze payouts. `npx guiche ledger verify` shows the reason.',
      ],
      database_went_back: [
        'The database went back in time',
        'Payouts are frozen: `npx guiche ledger release` says what to check.',
      ],
      ledger_not_verified: [
        'The ledger is not being verified',
        'The log says `a recurring job failed`, or no process runs jobs.',
      ],
      discrepancy_open: ['Undecided discrepancies with {acquirer}', '`npx guiche reconcile list --open` shows them.'],
      balance_differs: [
        'The balance at {acquirer} differs from the ledger',
        'A PSP fee, a draw or a pay-in is not recorded: `npx guiche ledger accounts`.',
      ],
      balance_unread: [
        'The balance at {acquirer} cannot be read',
        'Its last difference may be out of date. `npx guiche acquirer check {acquirer}` says why.',
      ],
      reconciliation_overdue: [
        'No reconciliation with {acquirer}',
        'Its lists cannot be read completely: the log says why.',
      ],
      close_overdue: [
        'No day of {acquirer} is being closed',
        'Its lists of the day cannot be read completely: the log says why.',
      ],
      suspense_waits: ['An unattributed payment waits for a person', '`npx guiche suspense list` shows it.'],
      return_unconfirmed: ['An acquirer does not confirm a return', '`npx guiche suspense list` shows it.'],
      other_cell_payments: [
        'Payments of cell {cell} arrive here',
        'An account at a PSP is configured in two cells: remove it from one of them.',
      ],
      withdrawal_waits: [
        'A withdrawal waits for approval',
        'It is not sent before somebody decides: `npx guiche withdrawal list --pending-review`.',
      ],
      dispute_deadline_near: [
        'Disputes with a deadline on {day} have no defence: three days or less are left',
        'Send the bank proof of the sales.',
      ],
      dispute_deadline: [
        'Disputes with a deadline on {day} have no defence: a day or less is left',
        'Send the bank proof of the sales.',
      ],
      dispute_overdue: [
        'A dispute did not end in time, and its money stays blocked',
        'Ask the PSP how it ended. If nothing more is returned, reject it on the dashboard.',
      ],
      disputed_differs: [
        'The amount blocked under MED at {acquirer} differs from the ledger',
        'A dispute may be missing here, or has ended there: compare those at the PSP with the list of disputes.',
      ],
      disputes_unread: [
        'The disputes of {acquirer} cannot be read',
        'The money of new disputes can be withdrawn meanwhile. `npx guiche acquirer check {acquirer}` says why.',
      ],
      dispute_unreadable: [
        'A dispute in the list of {acquirer} cannot be read',
        'Its money is not blocked. The log names it: look it up at the acquirer.',
      ],
      dispute_status_unknown: [
        'A dispute has a status that Guichê does not know',
        'Its money stays blocked until an operator decides it on the dashboard.',
      ],
      dispute_unattributed: [
        'A payment in suspense, or one that is not in the ledger, is disputed',
        'Check it before it is attributed.',
      ],
      certificate_expires: [
        'Our client certificate at {acquirer} expires within 30 days',
        'Get a new certificate from the PSP and replace the old file.',
      ],
      certificate_expired: [
        'Our client certificate at {acquirer} has expired',
        'The PSP refuses requests. Get a new certificate from it and replace the old file.',
      ],
      callbacks_delayed: ['Payments are not being confirmed', 'No process runs jobs, or too few do.'],
      callbacks_fail: [
        'Callbacks cannot be checked',
        'The acquirer does not answer, so payments are not being confirmed.',
      ],
      jobs_delayed: [
        'Jobs are not being run',
        'Refunds and withdrawals are not being sent, and acquirers are not being polled.',
      ],
      job_given_up: ['A job was given up', 'It failed for a week and is no longer retried.'],
      clock_differs: [
        'The clock of {host} differs from that of PostgreSQL',
        'Set the clocks of both machines by NTP. A day is closed when it is over by both, but charges expire and jobs run by the clock of {host}.',
      ],
      webhooks_delayed: ['Webhooks are not being delivered', 'No process delivers them, or too few do.'],
      receiver_fails: [
        'Webhooks to {receiver} fail',
        'The receiver of client {client} has accepted nothing for hours. After three days its events are given up.',
      ],
      endpoint_disabled: [
        'The webhook endpoint {receiver} was disabled',
        'That of client {client} answered 410, or every attempt failed for five days. Its merchant enables it again, or disables it for good.',
      ],
      event_sink_behind: [
        'Events wait for the message broker {sink}',
        'It does not acknowledge them. The log says why. Nothing is lost: they are sent when it does.',
      ],
    },
    facts: {
      age: (value) => `For ${value}`,
      count: (value) => `Number: ${value}`,
      left: (value) => `Time left: ${value}`,
      days: (value) => `Days left: ${value}`,
      cents: (value) => `Difference: ${value}`,
      seconds: (value) => `Difference: ${value}`,
    },
    passed: 'The deadline has passed',
    states: {
      opened: (title) => title,
      lasts: (title) => `Still: ${title}`,
      ended: (title) => `Resolved: ${title}`,
      test: (title) => title,
    },
    since: (at) => `Since ${at} (Brasília)`,
    lasted: (from, to) => `From ${from} to ${to} (Brasília)`,
    test: ['A test of Guichê’s alerts', 'Alerts arrive here. Nothing needs to be done.'],
  },
  pt: {
    alerts: {
      payouts_frozen: [
        'Saques e devoluções estão bloqueados',
        'O razão tem uma divergência, o banco de dados perdeu gravações ou foi restaurado, ou um operador bloqueou as saídas. `npx guiche ledger verify` mostra o motivo.',
      ],
      database_went_back: [
        'O banco de dados voltou no tempo',
        'As saídas estão bloqueadas: `npx guiche ledger release` diz o que verificar.',
      ],
      ledger_not_verified: [
        'O razão não está sendo conferido',
        'O log diz `a recurring job failed`, ou nenhum processo executa tarefas.',
      ],
      discrepancy_open: [
        'Divergências sem decisão com {acquirer}',
        '`npx guiche reconcile list --open` mostra quais são.',
      ],
      balance_differs: [
        'O saldo em {acquirer} difere do razão',
        'Falta lançar uma tarifa do PSP, uma retirada ou um aporte: `npx guiche ledger accounts`.',
      ],
      balance_unread: [
        'O saldo em {acquirer} não pode ser lido',
        'A última diferença pode estar desatualizada. `npx guiche acquirer check {acquirer}` diz o motivo.',
      ],
      reconciliation_overdue: [
        'Sem conciliação com {acquirer}',
        'As listas dele não podem ser lidas por completo: o log diz por quê.',
      ],
      close_overdue: [
        'Nenhum dia de {acquirer} é fechado',
        'As listas do dia não podem ser lidas por completo: o log diz por quê.',
      ],
      suspense_waits: ['Um pagamento não identificado aguarda uma pessoa', '`npx guiche suspense list` mostra qual é.'],
      return_unconfirmed: ['Um PSP não confirma uma devolução', '`npx guiche suspense list` mostra qual é.'],
      other_cell_payments: [
        'Pagamentos da célula {cell} chegam aqui',
        'Uma conta em um PSP está configurada em duas células: remova-a de uma delas.',
      ],
      withdrawal_waits: [
        'Um saque aguarda aprovação',
        'Ele só é enviado quando alguém decidir: `npx guiche withdrawal list --pending-review`.',
      ],
      dispute_deadline_near: [
        'Contestações com prazo em {day} estão sem defesa: restam três dias ou menos',
        'Envie ao banco a comprovação das vendas.',
      ],
      dispute_deadline: [
        'Contestações com prazo em {day} estão sem defesa: resta um dia ou menos',
        'Envie ao banco a comprovação das vendas.',
      ],
      dispute_overdue: [
        'Uma contestação não terminou no prazo, e o valor continua bloqueado',
        'Pergunte ao PSP como ela terminou. Se nada mais for devolvido, rejeite-a no painel.',
      ],
      disputed_differs: [
        'O valor bloqueado pelo MED em {acquirer} difere do razão',
        'Pode faltar uma contestação aqui, ou uma pode ter terminado lá: compare as do PSP com a lista de contestações.',
      ],
      disputes_unread: [
        'As contestações de {acquirer} não podem ser lidas',
        'Até lá, o dinheiro de novas contestações pode ser sacado. `npx guiche acquirer check {acquirer}` diz o motivo.',
      ],
      dispute_unreadable: [
        'Uma contestação na lista de {acquirer} não pode ser lida',
        'O dinheiro dela não está bloqueado. O log diz qual é: consulte-a no PSP.',
      ],
      dispute_status_unknown: [
        'Uma contestação tem uma situação que o Guichê não conhece',
        'O dinheiro continua bloqueado até um operador decidir no painel.',
      ],
      dispute_unattributed: [
        'Um pagamento na conta transitória, ou que não está no razão, foi contestado',
        'Verifique-o antes de conciliar.',
      ],
      certificate_expires: [
        'Nosso certificado de cliente em {acquirer} expira em menos de 30 dias',
        'Peça um novo certificado ao PSP e substitua o arquivo.',
      ],
      certificate_expired: [
        'Nosso certificado de cliente em {acquirer} expirou',
        'O PSP recusa as requisições. Peça um novo certificado e substitua o arquivo.',
      ],
      callbacks_delayed: [
        'Pagamentos não estão sendo confirmados',
        'Nenhum processo executa tarefas, ou são poucos os que executam.',
      ],
      callbacks_fail: [
        'Notificações do PSP não podem ser conferidas',
        'O PSP não responde, e por isso os pagamentos não são confirmados.',
      ],
      jobs_delayed: [
        'Tarefas não estão sendo executadas',
        'Devoluções e saques não são enviados, e os PSPs não são consultados.',
      ],
      job_given_up: ['Uma tarefa foi abandonada', 'Ela falhou por uma semana e não é mais repetida.'],
      clock_differs: [
        'O relógio de {host} difere do relógio do PostgreSQL',
        'Acerte os relógios das duas máquinas por NTP. Um dia só é fechado quando acabou nos dois, mas as cobranças expiram e as tarefas rodam pelo relógio de {host}.',
      ],
      webhooks_delayed: [
        'Webhooks não estão sendo entregues',
        'Nenhum processo faz as entregas, ou são poucos os que fazem.',
      ],
      receiver_fails: [
        'Webhooks para {receiver} falham',
        'O endereço da credencial {client} não aceita nada há horas. Depois de três dias os eventos não são mais repetidos.',
      ],
      endpoint_disabled: [
        'O endpoint de webhook {receiver} foi desativado',
        'O da credencial {client} respondeu 410, ou todas as tentativas falharam durante cinco dias. O lojista o reativa, ou o desativa de vez.',
      ],
      event_sink_behind: [
        'Há eventos esperando pelo message broker {sink}',
        'Ele não os confirma. O log diz por quê. Nada se perde: eles são enviados quando ele confirmar.',
      ],
    },
    facts: {
      age: (value) => `Há ${value}`,
      count: (value) => `Quantidade: ${value}`,
      left: (value) => `Tempo restante: ${value}`,
      days: (value) => `Dias restantes: ${value}`,
      cents: (value) => `Diferença: ${value}`,
      seconds: (value) => `Diferença: ${value}`,
    },
    passed: 'O prazo passou',
    states: {
      opened: (title) => title,
      lasts: (title) => `Continua: ${title}`,
      ended: (title) => `Resolvido: ${title}`,
      test: (title) => title,
    },
    since: (at) => `Desde ${at} (Brasília)`,
    lasted: (from, to) => `De ${from} a ${to} (Brasília)`,
    test: ['Um teste dos alertas do Guichê', 'Os alertas chegam aqui. Não é preciso fazer nada.'],
  },
}

/** The words of an alert in one language: what is wrong, how much of it, and what to do. */
export type WordedAlert = { title: string; fact: string | null; advice: string }

export function wordAlert(
  { kind, subject, value }: { kind: AlertKind; subject: string; value: number },
  language: Language,
): WordedAlert {
  const { alerts, facts, passed } = texts[language]
  const labels: Record<string, string> = JSON.parse(subject)
  const fill = (text: string) => text.replace(/\{(\w+)\}/g, (_, name: string) => labels[name] ?? '')
  const [title, advice] = alerts[kind]
  const { fact } = conditionOf(kind)
  const written = fact ? facts[fact](writeValue(fact, value, language)) : null
  return {
    title: fill(title),
    fact: fact === 'left' && value <= 0 ? passed : written,
    advice: fill(advice),
  }
}

/** The path of the dashboard's screen for an alert. */
export function screenOf({ kind, subject }: { kind: AlertKind; subject: string }): string {
  const labels: Record<string, string> = JSON.parse(subject)
  return conditionOf(kind).screen.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(labels[name] ?? ''))
}

export type AlertState = keyof Texts['states']

/** What is sent: a title, and lines of plain text. */
export type Message = {
  /** The same each time that this report is sent, so that receivers can drop a repeated one. */
  id: string
  /** The same in all messages of an alert. */
  thread: string
  state: AlertState
  kind: AlertKind | 'test'
  severity: 'critical' | 'warning' | 'test'
  subject: Record<string, string>
  title: string
  lines: string[]
  url: string
  beganAt: Date
  endedAt: Date | null
}

export type ReportedAlert = {
  id: string
  kind: AlertKind
  subject: string
  value: number
  began_at: Date
  ended_at: Date | null
  reports: number
}

export function writeMessage(
  alert: ReportedAlert,
  { language, baseUrl }: { language: Language; baseUrl: string },
): Message {
  const { states, since, lasted } = texts[language]
  const { id, kind, subject, began_at: beganAt, ended_at: endedAt, reports } = alert
  const { title, fact, advice } = wordAlert(alert, language)
  const state = endedAt ? 'ended' : reports === 1 ? 'opened' : 'lasts'
  const lines = endedAt
    ? [lasted(writeTime(beganAt, language), writeTime(endedAt, language))]
    : [...(fact ? [fact] : []), since(writeTime(beganAt, language)), advice]
  return {
    ...{ id: `${id}.${reports}`, thread: id, state, kind, subject: JSON.parse(subject) },
    ...{ severity: conditionOf(kind).severity, title: states[state](title), lines },
    ...{ url: `${baseUrl}/dashboard${screenOf(alert)}`, beganAt, endedAt },
  }
}

export function writeTestMessage({
  id,
  language,
  baseUrl,
  now,
}: {
  id: string
  language: Language
  baseUrl: string
  now: Date
}): Message {
  const [title, advice] = texts[language].test
  return {
    ...{ id: `${id}.1`, thread: id, state: 'test', kind: 'test', severity: 'test', subject: {}, title },
    ...{ lines: [advice], url: `${baseUrl}/dashboard/system`, beganAt: now, endedAt: null },
  }
}

const locales = { en: 'en-GB', pt: 'pt-BR' } as const

function writeValue(fact: Fact, value: number, language: Language): string {
  const locale = locales[language]
  if (fact === 'cents') return new Intl.NumberFormat(locale, { style: 'currency', currency: 'BRL' }).format(value / 100)
  if (fact === 'count' || fact === 'days') return new Intl.NumberFormat(locale).format(value)
  const [unit, seconds] = units.find(([, size]) => value >= 2 * size) ?? units[2]
  const format = new Intl.NumberFormat(locale, { style: 'unit', unit, unitDisplay: 'long' })
  return format.format(Math.max(0, Math.floor(value / seconds)))
}

const units = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const

function writeTime(at: Date, language: Language): string {
  return new Intl.DateTimeFormat(locales[language], {
    dateStyle: 'medium',
    timeStyle: 'short',
    timeZone: brasilia,
  }).format(at)
}

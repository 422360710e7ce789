import { isSwitchedOff } from './bacen/client.ts'
import { amount, count, dateTime, isRecord, type Json, list, record, text } from './bacen/read.ts'
import { isProblem } from './bacen/reason.ts'
import { type Answered, type Asked, type Finding, missing, ok, refusal, skipped } from './probe-finding.ts'

export function payments(
  asked: Asked,
  { pageSize, hasFees, isElsewhere }: { pageSize: number; hasFees: boolean; isElsewhere: (asked: Asked) => boolean },
): Finding[] {
  if ('answer' in asked && isEmptyList(asked)) return [emptyList(asked, isElsewhere)]
  const finding = listed('payments', 'pix', asked, 'pix')
  if (finding.state !== 'ok' || 'error' in asked || !asked.body) return [finding]
  return [finding, paging(asked.body, pageSize), times(asked.body), ...(hasFees ? [fees(asked.body)] : [])]
}

/** A 404 with an error body of the PSP's API: Banco do Brasil answers an empty list like this. */
function isEmptyList({ answer, body }: Answered): boolean {
  return answer.status === 404 && body !== null && isProblem(body)
}

function emptyList(asked: Answered, isElsewhere: (asked: Asked) => boolean): Finding {
  const told = `the list of the last day is answered ${refusal(asked)}`
  if (!isElsewhere(asked)) return ok('payments', `${told}: read as an empty list`)
  return {
    subject: 'payments',
    state: 'warning',
    said: `${told}, as is a path that does not exist: check again on a day with a payment`,
    setting: 'overrides.paths.pix',
  }
}

function listed(subject: string, member: string, asked: Asked, path: string): Finding {
  const setting = `overrides.paths.${path}`
  if ('error' in asked) return missing(subject, asked.error, 'baseUrl')
  const { answer, body } = asked
  if (answer.status < 200 || answer.status > 299)
    return missing(subject, refusal(asked), answer.status === 400 ? `${setting}, overrides.list.daysMax` : setting)
  const entries = body && (body[member] !== undefined || body.parametros !== undefined) ? list(body, member) : null
  if (!entries) return missing(subject, `an answer without a list "${member}"`, setting)
  return ok(subject, `the list of the last day has ${entries.length} on its first page`)
}

/** Payments work without it, so a refusal is a warning. */
export function told(subject: string, asked: Asked, setting: string): Finding {
  if (!('error' in asked) && asked.answer.status >= 200 && asked.answer.status < 300 && asked.body)
    return ok(subject, 'the PSP reports the balance of the account')
  const why = 'error' in asked ? asked.error : refusal(asked)
  return { subject, state: 'warning', said: `${why}: the account’s balance is not compared with the ledger`, setting }
}

/** Efí lists disputes in production only. */
export function disputes(asked: Asked): Finding {
  if ('answer' in asked && isSwitchedOff(asked.answer.status, asked.answer.body))
    return skipped('disputes (MED)', `not offered in this environment: ${refusal(asked)}`)
  return listed('disputes (MED)', 'infracoes', asked, 'infractions')
}

function paging(body: Json, pageSize: number): Finding {
  const told = record(record(body, 'parametros'), 'paginacao')
  const [page, size] = [count(told, 'paginaAtual'), count(told, 'itensPorPagina')]
  if (page === null)
    return {
      subject: 'pages',
      state: 'warning',
      said: 'the PSP does not say how many pages there are: read until a page is not full',
      setting: null,
    }
  if (page !== 0) return missing('pages', `page 0 was requested, and the PSP returned page ${page}`, null)
  if (size !== null && size < pageSize)
    return {
      subject: 'pages',
      state: 'warning',
      said: `${size} entries to a page and not ${pageSize}`,
      setting: `overrides.list.pageSize: ${size}`,
    }
  return ok('pages', `from zero, ${size ?? pageSize} entries to a page`)
}

function times(body: Json): Finding {
  const entries = (list(body, 'pix') ?? []).filter(isRecord)
  const broken = entries.filter((entry) => dateTime(entry, 'horario') === null)
  if (entries.length === 0) return skipped('times', 'no payment to check')
  if (broken.length > 0) return missing('times', `${broken.length} payments have a time that cannot be read`, null)
  const isOpen = entries.some((entry) => !/(Z|[+-]\d\d:?\d\d)$/i.test(text(entry, 'horario') ?? ''))
  if (!isOpen) return ok('times', 'of payments are readable')
  return {
    subject: 'times',
    state: 'warning',
    said: 'payments have times without an offset: read as UTC',
    setting: null,
  }
}

/** Reconciliation compares the agreed fee with the fee in the list. */
function fees(body: Json): Finding {
  const entries = (list(body, 'pix') ?? []).filter(isRecord)
  if (entries.length === 0) return skipped('fees', 'no payment to check')
  const named = entries.filter((entry) => amount(record(entry, 'gnExtras'), 'tarifa') !== null)
  if (named.length > 0) return ok('fees', `${named.length} of ${entries.length} payments have their fee`)
  const said = 'no payment has its fee: reconciliation cannot compare the agreed fees'
  return { subject: 'fees', state: 'warning', said, setting: 'fees' }
}

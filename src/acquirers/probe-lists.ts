import { isSwitchedOff } from './bacen/client.ts'
import { readEntries } from './bacen/pages.ts'
import { amount, count, dateTime, isRecord, type Json, record, text } from './bacen/read.ts'
import { isProblem } from './bacen/reason.ts'
import { type Answered, type Finding, missing, ok, type ProbeResult, refusal, skipped } from './probe-finding.ts'

type IsUnknownPath = (result: ProbeResult) => boolean

/** `field`: of the answer, with the entries. `path`: its name in the settings. */
type ListProbe = { subject: string; field: string; path: string; isUnknownPath: IsUnknownPath }

export function payments(
  result: ProbeResult,
  { pageSize, isFeeAgreed, isUnknownPath }: { pageSize: number; isFeeAgreed: boolean; isUnknownPath: IsUnknownPath },
): Finding[] {
  const finding = listed(result, { subject: 'payments', field: 'pix', path: 'pix', isUnknownPath })
  if (finding.state !== 'ok' || 'error' in result || !result.body || isEmptyList(result)) return [finding]
  return [finding, pages(result.body, pageSize), times(result.body), ...(isFeeAgreed ? [fees(result.body)] : [])]
}

/** A 404 with an error body of the PSP's API: Banco do Brasil answers an empty list like this. */
function isEmptyList({ answer, body }: Answered): boolean {
  return answer.status === 404 && body !== null && isProblem(body)
}

function emptyList(result: Answered, { subject, path, isUnknownPath }: ListProbe): Finding {
  const line = `the PSP answers the request for the last day’s list with ${refusal(result)}`
  if (!isUnknownPath(result)) return ok(subject, `${line}: read as an empty list`)
  return {
    subject,
    state: 'warning',
    said: `${line}, and a path that does not exist with the same: check again on a day with ${subject}`,
    setting: `overrides.paths.${path}`,
  }
}

function listed(result: ProbeResult, probe: ListProbe): Finding {
  const { subject, field, path } = probe
  if ('answer' in result && isEmptyList(result)) return emptyList(result, probe)
  const setting = `overrides.paths.${path}`
  if ('error' in result) return missing(subject, result.error, 'baseUrl')
  const { answer, body } = result
  if (answer.status < 200 || answer.status > 299)
    return missing(subject, refusal(result), answer.status === 400 ? `${setting}, overrides.list.daysMax` : setting)
  const entries = body && readEntries(body, field)
  if (!entries) return missing(subject, `an answer without a list "${field}"`, setting)
  return ok(subject, `the list of the last day has ${entries.length} on its first page`)
}

/** Everything else works without the balance, so a refusal is a warning. */
export function balance(result: ProbeResult, read: (body: Json) => object | null): Finding {
  const isYes = 'answer' in result && result.answer.status >= 200 && result.answer.status < 300
  if (isYes && result.body && read(result.body)) return ok('balance', 'the PSP reports the balance of the account')
  const why =
    'error' in result ? result.error : isYes ? 'the PSP’s answer has no balance that can be read' : refusal(result)
  return {
    subject: 'balance',
    state: 'warning',
    said: `${why}: the account’s balance is not compared with the ledger`,
    setting: 'overrides.paths.balance, overrides.offers.balance',
  }
}

/** Efí lists disputes in production only. */
export function disputes(result: ProbeResult, isUnknownPath: IsUnknownPath): Finding {
  if ('answer' in result && isSwitchedOff(result.answer.status, result.answer.body))
    return skipped('disputes (MED)', `not offered in this environment: ${refusal(result)}`)
  return listed(result, { subject: 'disputes (MED)', field: 'infracoes', path: 'disputes', isUnknownPath })
}

function pages(body: Json, pageSize: number): Finding {
  const paging = record(record(body, 'parametros'), 'paginacao')
  const [page, size] = [count(paging, 'paginaAtual'), count(paging, 'itensPorPagina')]
  if (page !== null && page !== 0)
    return missing('pages', `page 0 was requested, and the PSP returned page ${page}`, null)
  if (size !== null && size < pageSize)
    return {
      subject: 'pages',
      state: 'warning',
      said: `the PSP returns ${size} entries per page, but ${pageSize} were requested`,
      setting: `overrides.list.pageSize: ${size}`,
    }
  if (count(paging, 'quantidadeDePaginas') === null)
    return {
      subject: 'pages',
      state: 'warning',
      said: 'the PSP does not report the number of pages: a list is read until a page is not full',
      setting: null,
    }
  return ok('pages', `numbered from zero, ${size ?? pageSize} entries per page`)
}

function times(body: Json): Finding {
  const entries = (readEntries(body, 'pix') ?? []).filter(isRecord)
  const broken = entries.filter((entry) => dateTime(entry, 'horario') === null)
  if (entries.length === 0) return skipped('times', 'no payment to check')
  if (broken.length > 0) return missing('times', `${broken.length} payments have a time that cannot be read`, null)
  const lacksOffset = entries.some((entry) => !/(Z|[+-]\d\d:?\d\d)$/i.test(text(entry, 'horario') ?? ''))
  if (!lacksOffset) return ok('times', 'of payments are readable')
  return {
    subject: 'times',
    state: 'warning',
    said: 'payments have times without an offset: read as UTC',
    setting: null,
  }
}

/** Reconciliation compares the agreed fee with the fee in the list. */
function fees(body: Json): Finding {
  const entries = (readEntries(body, 'pix') ?? []).filter(isRecord)
  if (entries.length === 0) return skipped('fees', 'no payment to check')
  const named = entries.filter((entry) => amount(record(entry, 'gnExtras'), 'tarifa') !== null)
  if (named.length > 0) return ok('fees', `${named.length} of ${entries.length} payments have their fee`)
  const said = 'no payment has its fee: reconciliation cannot compare the agreed fees'
  return { subject: 'fees', state: 'warning', said, setting: 'fees' }
}

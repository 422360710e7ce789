import type { Format } from '../../format.ts'
import type { Language } from '../../text.ts'
import { type Actions, type DiscrepancyClass, discrepancyClassLabels } from '../../types.ts'
import { words as userWords } from '../users/text.ts'
import { words } from './text.ts'

/** Details that are not shown: ids and hashes, which tell a reader nothing. */
export const hiddenDetails = new Set([
  'proposalId',
  'disputeId',
  'fileId',
  'refundId',
  'endpointId',
  'transactionId',
  'person',
])
const cents = new Set([
  'amount',
  'cents',
  'fixed',
  'minimum',
  'maximum',
  'perWithdrawal',
  'perDay',
  'perNight',
  'approvalAbove',
  'operatorApprovalAbove',
])

type Accounts = Record<string, readonly [name: string, ...rest: string[]]>
/** How the reader wants the details. */
type Reader = { language: Language; format: Format; accounts: Accounts }

/**
 * The details of an entry as `approval above: R$1,000.00 · per day: none`. Without the amount: the entry's sentence
 * (sentences.ts) has it, or the CSV's column of amounts.
 */
export function writeDetails(details: Actions['data'][number]['details'], reader: Reader): string {
  const shown = Object.entries(details ?? {}).filter(
    ([name, value]) => !hiddenDetails.has(name) && name !== 'amount' && !(name === 'reference' && value === null),
  )
  return shown
    .map(([name, value]) => `${words[reader.language].details[name] ?? name}: ${write(name, value, reader)}`)
    .join(' · ')
}

function write(name: string, value: unknown, reader: Reader): string {
  const { language, format } = reader
  const t = words[language]
  if (value === null) return name === 'approvalAbove' || name === 'operatorApprovalAbove' ? t.never : t.nothing
  if (typeof value === 'boolean') return value ? t.yes : t.no
  if (name === 'recipients' && Array.isArray(value)) return format.number(value.length)
  if (Array.isArray(value)) return value.join(', ') || t.nothing
  if (typeof value === 'number') {
    if (cents.has(name)) return format.money(value)
    if (name === 'basisPoints') return format.share(value / 10_000)
    return name === 'duplicateWindowSeconds' ? format.duration(value * 1_000) : format.number(value)
  }
  return writeText(name, String(value), reader)
}

function writeText(name: string, value: string, { language, format, accounts }: Reader): string {
  if (/^\d{4}-\d\d-\d\d$/.test(value)) return format.day(value)
  if (/^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value)) return format.dateTime(value)
  if (name === 'proposedBy') return value.replace(/^(user|cli):/, '')
  if (name === 'role') return userWords[language].roles[value] ?? value
  if (name === 'class') return discrepancyClassLabels[language][value as DiscrepancyClass]?.[0] ?? value
  if (['debit', 'credit', 'account'].includes(name)) return accounts[value]?.[0] ?? value
  return name === 'every' || name === 'factor' ? (words[language].values[value] ?? value) : value
}

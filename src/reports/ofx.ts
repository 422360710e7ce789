import type { Reads } from '../db/sql.ts'
import type { ExportedEntry } from '../ledger/export-store.ts'
import { kindNames } from '../ledger/kind-names.ts'
import { findBalancesAt } from '../ledger/store.ts'
import { describeEntry, walkStatement } from '../ledger/view.ts'
import type { Language } from '../lib/alert-settings.ts'
import { toWallTime } from '../lib/brasilia.ts'
import { type Period, windowOfPeriod } from './period.ts'

/** The lengths that OFX 1.02 gives these elements. */
const lengths = { account: 22, name: 32, memo: 255, reference: 32 }

/**
 * A statement as OFX 1.02, the version that Brazilian banks write and accounting programs import: in SGML, with every
 * element closed, in Windows-1252, amounts with a point. FITID is the number of the transfer in the ledger, which never
 * changes: a program that imports two files drops the entries that it has.
 */
export async function* writeOfx(
  db: Reads,
  { merchantId, period, language, now }: { merchantId: string; period: Period; language: Language; now: Date },
): AsyncGenerator<Buffer> {
  const { from, to } = windowOfPeriod(period)
  // If the period is not over yet, the file ends at the present moment.
  const end = new Date(Math.min(to.getTime() - 1, now.getTime()))
  yield encode(`${head}${toOpening({ merchantId, from, end, language, now })}`)
  let closing: number | null = null
  for await (const entries of walkStatement(db, merchantId, { startDate: from, endDate: end })) {
    // The newest entry comes first. The balance after it is the closing balance. It was read together with the list, so
    // the two are consistent.
    closing ??= entries[0]?.balance ?? null
    yield encode(entries.map((entry) => toTransaction(entry, language)).join(''))
  }
  closing ??= (await findBalancesAt(db, merchantId, end)).available
  yield encode(toEnding(closing, end))
}

const head = [
  'OFXHEADER:100',
  'DATA:OFXSGML',
  'VERSION:102',
  'SECURITY:NONE',
  'ENCODING:USASCII',
  'CHARSET:1252',
  'COMPRESSION:NONE',
  'OLDFILEUID:NONE',
  'NEWFILEUID:NONE',
  '',
  '',
].join('\r\n')

type Opening = { merchantId: string; from: Date; end: Date; language: Language; now: Date }

function toOpening({ merchantId, from, end, language, now }: Opening): string {
  const fine = '<STATUS><CODE>0</CODE><SEVERITY>INFO</SEVERITY></STATUS>'
  return [
    '<OFX>',
    `<SIGNONMSGSRSV1><SONRS>${fine}<DTSERVER>${toTime(now)}</DTSERVER>`,
    `<LANGUAGE>${language === 'pt' ? 'POR' : 'ENG'}</LANGUAGE>`,
    '<FI><ORG>Guiche</ORG><FID>guiche</FID></FI></SONRS></SIGNONMSGSRSV1>',
    `<BANKMSGSRSV1><STMTTRNRS><TRNUID>1</TRNUID>${fine}<STMTRS><CURDEF>BRL</CURDEF>`,
    // Not a bank's number: a program keeps the account apart from every bank account.
    '<BANKACCTFROM><BANKID>guiche</BANKID>',
    `<ACCTID>${merchantId.replaceAll('-', '').slice(0, lengths.account)}</ACCTID>`,
    '<ACCTTYPE>CHECKING</ACCTTYPE></BANKACCTFROM>',
    `<BANKTRANLIST><DTSTART>${toTime(from)}</DTSTART><DTEND>${toTime(end)}</DTEND>`,
    '',
  ].join('\r\n')
}

function toTransaction(entry: ExportedEntry, language: Language): string {
  const { id, kind, amount, created_at: at, end_to_end: endToEnd, external_code: externalCode } = entry
  const name = kindNames[language][kind]
  const memo = [name, externalCode, describeEntry(entry, language)].filter(Boolean).join(' - ')
  return [
    `<STMTTRN><TRNTYPE>${amount < 0 ? 'DEBIT' : 'CREDIT'}</TRNTYPE><DTPOSTED>${toTime(at)}</DTPOSTED>`,
    `<TRNAMT>${toAmount(amount)}</TRNAMT><FITID>${id}</FITID><CHECKNUM>${id}</CHECKNUM>`,
    ...(endToEnd === null ? [] : [`<REFNUM>${toText(endToEnd, lengths.reference)}</REFNUM>`]),
    `<NAME>${toText(name, lengths.name)}</NAME><MEMO>${toText(memo, lengths.memo)}</MEMO></STMTTRN>`,
    '',
  ].join('\r\n')
}

function toEnding(closing: number, end: Date): string {
  const balance = `<BALAMT>${toAmount(closing)}</BALAMT><DTASOF>${toTime(end)}</DTASOF>`
  return [
    '</BANKTRANLIST>',
    `<LEDGERBAL>${balance}</LEDGERBAL>`,
    `<AVAILBAL>${balance}</AVAILBAL>`,
    '</STMTRS></STMTTRNRS></BANKMSGSRSV1>',
    '</OFX>',
    '',
  ].join('\r\n')
}

function toAmount(cents: number): string {
  const digits = String(Math.abs(cents)).padStart(3, '0')
  return `${cents < 0 ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}`
}

/** `20261120235959[-3:BRT]`. */
function toTime(at: Date): string {
  const wall = toWallTime(at)
  const hours = Math.round((wall.getTime() - Math.floor(at.getTime() / 1000) * 1000) / 3_600_000)
  return `${wall.toISOString().replace(/\D/g, '').slice(0, 14)}[${hours}:BRT]`
}

/** Replaces line breaks and other white space by one space, cuts to a length, and escapes `&`, `<` and `>`. */
function toText(text: string, length: number): string {
  const cut = Array.from(text.replace(/\s+/g, ' ')).slice(0, length).join('')
  return cut.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

/**
 * ISO 8859-1, which Windows-1252 contains except for control characters. Everything else becomes `?`, also what only
 * Windows-1252 has, such as € and curly quotes.
 */
function encode(text: string): Buffer {
  return Buffer.from(text.replace(/[^\n\r\x20-\x7e\xa0-\xff]/gu, '?'), 'latin1')
}

import { copyHeaderBytes } from '../db/copy.ts'

/** The tables that are filled, with their columns in the order in which the rows below have them. */
export const columnsOf = {
  transactions: `id, merchant_id, acquirer, amount, idempotency_key, external_code, webhook_url, is_info_product, customer, address, items,
    metadata, customer_search_name, customer_search_email, customer_document, customer_landline_digits, customer_mobile_digits,
    pix_expiration_seconds, pix_uri, pix_expires_at, created_at, statuses, status_dates, amount_paid, payment_date, end_to_end, payer,
    receiver, fee_amount, infraction_date, error_message, amount_returned, check_at`,
  refunds: `merchant_id, id, transaction_id, amount, fee_amount, status, end_to_end, reason, idempotency_key, error_message, created_at,
    finished_at, check_at`,
  infractions: `merchant_id, id, transaction_id, acquirer_reference, amount, reason, state, opened_at, decided_at, finished_at,
    acquirer_status, acquirer_state, deadline_at, blocked_amount, returned_amount, postings`,
  transaction_returns: `merchant_id, id, transaction_id, infraction_id, reference, end_to_end, amount, returned_at, booked_at`,
  events: `merchant_id, id, type, record_type, record_id, sequence, occurred_at, snapshot`,
  webhook_deliveries: `merchant_id, event_id, record_id, sequence, url, receiver, state, attempts, next_attempt_at, last_status, created_at,
    finished_at`,
  webhook_attempts: `merchant_id, event_id, number, started_at, duration_ms, status, error`,
  ledger_accounts: `merchant_id, account, balance`,
  ledger_transfers: `merchant_id, id, event_key, position, kind, debit, credit, amount, debit_balance, credit_balance, record_type,
    record_id, created_at`,
  'simulator.charges': `id, txid, amount, expires_in, created_at, base_url`,
  'simulator.pix': `end_to_end_id, charge_id, amount, paid_at, payer`,
  'simulator.returns': `end_to_end_id, id, return_id, amount, nature, requested_at, settles_at, rejection`,
  'simulator.infractions': `id, end_to_end_id, amount, reason, state, opened_at, changed_at, return_settles_at`,
} as const

export type Table = keyof typeof columnsOf
export const tables = Object.keys(columnsOf) as Table[]

/** A value of a row. A time is its text, see {@link at}. */
export type Cell = string | number | boolean | null

/** Rows as COPY reads them: a tab between two values and a line to each row, where no value is null. */
export type Sheets = {
  /** No value of ours is empty, or has a tab, a line break or a backslash in it, which would have to be marked. */
  add(table: Table, cells: Cell[]): void
  /** Gives what was added since the last time. */
  take(): Written
  /** Pages that have been read, and may be written on again. */
  giveBack(pages: Buffer[]): void
}

type Written = Map<Table, Buffer[]>

const pageBytes = 256 * 1024
/** No row has as many bytes. */
const rowBytesMax = 16 * 1024

/**
 * Written as bytes at once, on pages that are used again: as text, or on new pages, half of the time went into collecting the garbage.
 */
export function createSheets(): Sheets {
  type Sheet = { pages: Buffer[]; page: Buffer; length: number }
  const sheets = new Map<Table, Sheet>()
  const blank: Buffer[] = []
  const nextPage = () => blank.pop() ?? Buffer.allocUnsafeSlow(pageBytes)
  return {
    add(table, cells) {
      let sheet = sheets.get(table)
      if (!sheet) {
        sheet = { pages: [], page: nextPage(), length: copyHeaderBytes }
        sheets.set(table, sheet)
      }
      if (sheet.length > pageBytes - rowBytesMax) {
        sheet.pages.push(sheet.page.subarray(0, sheet.length))
        sheet.page = nextPage()
        sheet.length = copyHeaderBytes
      }
      sheet.length += sheet.page.write(`${cells.join('\t')}\n`, sheet.length)
    },
    take() {
      const written = new Map(
        [...sheets].map(([table, { pages, page, length }]) => [table, [...pages, page.subarray(0, length)]]),
      )
      sheets.clear()
      return written
    },
    giveBack(pages) {
      blank.push(...pages.map(({ buffer }) => Buffer.from(buffer)))
    },
  }
}

/** A time as ISO 8601 has it. A day's part is kept: a quarter of the time that `toISOString` takes, and each row has several. */
export function at(ms: number): string
export function at(ms: number | null): string | null
export function at(ms: number | null): string | null {
  if (ms === null) return null
  const day = Math.floor(ms / dayMs)
  if (day !== lastDay) {
    lastDay = day
    lastDate = new Date(day * dayMs).toISOString().slice(0, 11)
  }
  const inDay = ms - day * dayMs
  const minutes = Math.floor(inDay / 60_000)
  const inMinute = inDay - minutes * 60_000
  return `${lastDate}${clockTimes[minutes]}${seconds[Math.floor(inMinute / 1000)]}${thousandths[inMinute % 1000]}`
}

const dayMs = 86_400_000
let lastDay = Number.NaN
let lastDate = ''
const two = (number: number) => String(number).padStart(2, '0')
const clockTimes = Array.from({ length: 1440 }, (_, minute) => `${two(Math.floor(minute / 60))}:${two(minute % 60)}:`)
const seconds = Array.from({ length: 60 }, (_, second) => `${two(second)}.`)
const thousandths = Array.from({ length: 1000 }, (_, ms) => `${String(ms).padStart(3, '0')}Z`)

import { type Db, raw, sql } from '../../src/db/sql.ts'

type Columns = Record<string, unknown>

/** Inserts one row. Columns that it does not name get their defaults. */
export async function insertRow(db: Db, table: string, row: Columns): Promise<void> {
  const names = raw(Object.keys(row).join(', '))
  await db.query(sql`
    insert into ${raw(table)} (${names})
    select ${names} from json_populate_record(null::${raw(table)}, ${JSON.stringify(row)}::json)`)
}

/** Changes columns of one row. */
export async function updateRow(db: Db, table: string, id: string, row: Columns): Promise<void> {
  const names = raw(Object.keys(row).join(', '))
  await db.query(sql`
    update ${raw(table)} set (${names}) = (
      select ${names} from json_populate_record(null::${raw(table)}, ${JSON.stringify(row)}::json))
    where id = ${id}`)
}

/** A history of these statuses, each one second and one millisecond long. */
export function historyColumns(createdAt: Date, statuses: readonly string[]): Columns {
  return {
    created_at: createdAt,
    statuses,
    status_dates: statuses.map((_, index) => new Date(createdAt.getTime() + index * 1001)),
  }
}

/** The status history that leads to each status of a transaction. */
export const transactionHistories: Record<string, readonly string[]> = {
  PENDING: ['PENDING'],
  PIX_QRCODE_GENERATED: ['PENDING', 'PIX_QRCODE_GENERATED'],
  PAID: ['PENDING', 'PIX_QRCODE_GENERATED', 'PAID'],
  PROCESSING_REFUND: ['PENDING', 'PIX_QRCODE_GENERATED', 'PAID', 'PROCESSING_REFUND'],
  REFUNDED: ['PENDING', 'PIX_QRCODE_GENERATED', 'PAID', 'PROCESSING_REFUND', 'REFUNDED'],
  BLOCKED: ['PENDING', 'PIX_QRCODE_GENERATED', 'PAID', 'BLOCKED'],
  PROCESSING_INFRACTION: ['PENDING', 'PIX_QRCODE_GENERATED', 'PAID', 'BLOCKED', 'PROCESSING_INFRACTION'],
  INFRACTION: ['PENDING', 'PIX_QRCODE_GENERATED', 'PAID', 'BLOCKED', 'PROCESSING_INFRACTION', 'INFRACTION'],
  FAILED: ['PENDING', 'FAILED'],
}

/** The status history that leads to each status of a withdrawal. */
export const withdrawalHistories: Record<string, readonly string[]> = {
  PENDING: ['PENDING'],
  PROCESSING: ['PENDING', 'PROCESSING'],
  PROCESSED: ['PENDING', 'PROCESSING', 'PROCESSED'],
  FAILED: ['PENDING', 'PROCESSING', 'FAILED'],
  CANCELED: ['PENDING', 'CANCELED'],
  REFUNDED: ['PENDING', 'PROCESSING', 'PROCESSED', 'REFUNDED'],
  REJECTED: ['PENDING', 'REJECTED'],
}

export const accountHolder = {
  type: 'PF',
  name: 'Maria da Silva',
  document: '52998224725',
  bankAccount: { type: 'CACC', branch: '0001', number: '123456', digit: '7', ispb: '12345678' },
  pix: { key: 'maria@example.com', type: 'EMAIL' },
}

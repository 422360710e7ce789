import { type Db, empty, type Reads, sql } from '../db/sql.ts'

/** A problem document, redacted. */
export type Problem = {
  title: string
  status: number
  detail: string
  code: string
  errors: { field: string; code: string; message?: string; limit?: number; unit?: string; recordId?: string }[]
  transactionId?: string
  transactionStatus?: string
  amountLeft?: number
}

/** What is kept of the answer to a successful request. */
export type Success = { id?: string; status?: string }

/** A request that was answered, redacted. */
export type ApiRequest = {
  merchantId: string
  at: Date
  requestId: string
  method: string
  route: string
  status: number
  durationMs: number
  recordId: string | null
  request: { query?: unknown; body?: unknown } | null
  problem: Problem | null
  response: Success | null
  dropped: number
}

/** Inserts any number at once, without waiting for the disk: see `insertExchanges`. */
export async function insertApiRequests(db: Db, rows: ApiRequest[]): Promise<void> {
  await db.query(
    sql`
    insert into api_requests (
      merchant_id, at, request_id, method, route, status, duration_ms, record_id, request, problem, response, dropped)
    select "merchantId", at, "requestId", method, route, status, "durationMs", "recordId", request, problem, response,
      dropped
    from (select set_config('synchronous_commit', 'off', true)) async_commit,
      json_to_recordset(${JSON.stringify(rows)}::json) as input (
        "merchantId" uuid, at timestamptz, "requestId" text, method text, route text, status smallint,
        "durationMs" integer, "recordId" uuid, request json, problem json, response json, dropped integer)`,
    'insert-api-requests',
  )
}

export type ApiRequestRow = {
  id: number
  at: Date
  request_id: string
  method: string
  route: string
  status: number
  duration_ms: number
  record_id: string | null
  request: ApiRequest['request']
  /** Entries written before 0026 have only code and errors. */
  problem: Problem | null
  response: Success | null
  dropped: number
}

export type ApiRequestFilter = {
  merchantId: string
  /** 2, 4 or 5. */
  statusClass: number | null
  route: string | null
  requestId: string | null
  /** Lists what is older than this entry. */
  before: { at: Date; id: number } | null
  limit: number
}

/** A page of one merchant's requests, newest first. */
export async function listApiRequests(db: Reads, filter: ApiRequestFilter): Promise<ApiRequestRow[]> {
  const { merchantId, statusClass, route, requestId, before, limit } = filter
  return await db.query<ApiRequestRow>(sql`
    select id, at, request_id, method, route, status, duration_ms, record_id, request, problem, response, dropped
    from api_requests
    where merchant_id = ${merchantId}
      ${statusClass === null ? empty : sql`and status between ${statusClass * 100} and ${statusClass * 100 + 99}`}
      ${route === null ? empty : sql`and position(${route} in method || ' ' || route) > 0`}
      ${requestId === null ? empty : sql`and request_id = ${requestId}`}
      ${before === null ? empty : sql`and (at, id) < (${before.at}, ${before.id})`}
    order by at desc, id desc limit ${limit}`)
}

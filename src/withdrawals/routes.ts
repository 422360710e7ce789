import { callerOf } from '../http/caller.ts'
import type { Db } from '../db/sql.ts'
import { parseDateTime } from '../http/formats.ts'
import { readSlice, toEnvelope } from '../http/page.ts'
import { problems } from '../http/schemas.ts'
import type { Server } from '../http/server.ts'
import { detectPixKey } from '../pix/key.ts'
import { type ListWithdrawalsFilters, ListWithdrawalsQuery, WithdrawalList } from './schema.ts'
import { listWithdrawals, type WithdrawalFilters } from './store.ts'
import { toWithdrawalView } from './view.ts'

export function registerWithdrawalRoutes(app: Server, deps: { db: Db }): void {
  app.get(
    '/withdrawal',
    {
      config: { access: { scope: 'withdrawal.read' } },
      schema: {
        summary: 'List withdrawals',
        description: 'Newest first. Dates filter `createdAt`, both ends inclusive.',
        tags: ['Withdrawals'],
        querystring: ListWithdrawalsQuery,
        response: { 200: WithdrawalList, ...problems(401, 403, 422, 500) },
      },
    },
    async (request) => {
      const slice = readSlice(request.query)
      const page = await listWithdrawals(deps.db, callerOf(request).merchantId, toFilters(request.query), slice)
      return toEnvelope(page, slice, toWithdrawalView)
    },
  )
}

function toFilters(query: ListWithdrawalsFilters): WithdrawalFilters {
  const date = (text: string | undefined) => (text === undefined ? undefined : (parseDateTime(text) ?? undefined))
  return {
    startDate: date(query.startDate),
    endDate: date(query.endDate),
    statuses: query.status,
    id: query.id,
    pixKey: query.pixKey === undefined ? undefined : detectPixKey(query.pixKey)?.key,
    endToEnd: query.endToEnd,
    endToEndRefund: query.endToEndRefund,
    externalCode: query.externalCode,
    minAmount: query.minAmount,
    maxAmount: query.maxAmount,
  }
}

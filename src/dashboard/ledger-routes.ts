import { Type } from 'typebox'
import { byUser } from '../audit/record.ts'
import type { Db } from '../db/sql.ts'
import { userOf } from '../http/caller.ts'
import { toDate } from '../http/formats.ts'
import { Amount, DateTimeFilter, NoQuery, Nullable, problems } from '../http/schemas.ts'
import type { Server } from '../http/server.ts'
import { findClearingBalances } from '../ledger/clearing-store.ts'
import { showPayoutFreeze } from '../ledger/payout-freeze.ts'
import { findBalances, findBalancesAt } from '../ledger/store.ts'
import { assert } from '../lib/assert.ts'
import type { Clock } from '../lib/clock.ts'
import { invalidField } from '../lib/errors.ts'
import { listFees, setFee } from '../operator/fees.ts'
import { listComparedBalances } from '../reconciliation/balance-store.ts'
import { operatorMerchantId } from '../suspense/status.ts'
import { findVerified } from '../verification.ts'
import { countUnbalancedMerchants, findTransactionsOf } from './ledger-store.ts'
import { EntryRecordView, FeeView, LedgerView } from './operator-schema.ts'
import { ClientFilter, findShownMerchantId } from './overview-routes.ts'
import { sumBalances } from './overview-store.ts'
import { DataOf } from './schema.ts'

type Deps = { db: Db; clock: Clock }

/** One page of a statement. */
const idsMax = 100
const centsMax = 999_999_999_999

/**
 * The ledger as the operator sees it, and the clients' fees. A merchant reads its own balance and statement through
 * the merchants' API.
 */
export function registerOperatorLedgerRoutes(app: Server, deps: Deps): void {
  const { db } = deps
  app.get(
    '/dashboard/api/ledger',
    {
      config: { access: { permission: 'ledger.read' } },
      schema: {
        hide: true,
        querystring: Type.Object(
          { clientId: ClientFilter, at: Type.Optional(DateTimeFilter('Of one client: as it was at this moment')) },
          { additionalProperties: false },
        ),
        response: { 200: LedgerView, ...problems(401, 403, 404, 422) },
      },
    },
    async (request): Promise<LedgerView> => {
      const merchantId = await findShownMerchantId(deps, userOf(request), request.query.clientId)
      const at = toDate(request.query.at)
      if (at && merchantId === null) throw invalidField('at', 'invalid', 'needs a clientId')
      const [accounts, operator, acquirers, unevenMerchants, verified, payoutFreeze] = await Promise.all([
        merchantId === null
          ? sumBalances(db, { merchantId })
          : at
            ? findBalancesAt(db, merchantId, at)
            : findBalances(db, merchantId),
        merchantId === null ? findBalances(db, operatorMerchantId) : null,
        merchantId === null ? listAcquirers(db) : [],
        countUnbalancedMerchants(db),
        findVerified(db),
        showPayoutFreeze(db),
      ])
      return {
        accounts,
        operator,
        acquirers,
        unevenMerchants,
        verified,
        payoutFreeze,
      }
    },
  )

  app.get(
    '/dashboard/api/ledger/transactions',
    {
      config: { access: { permission: 'balance.read' } },
      schema: {
        hide: true,
        querystring: Type.Object(
          {
            clientId: ClientFilter,
            id: Type.Array(Type.String({ format: 'uuid-any' }), { minItems: 1, maxItems: idsMax }),
          },
          { additionalProperties: false },
        ),
        response: { 200: DataOf(EntryRecordView), ...problems(401, 403, 404, 422) },
      },
    },
    async (request) => {
      const merchantId = await findShownMerchantId(deps, userOf(request), request.query.clientId)
      if (merchantId === null)
        throw invalidField('clientId', 'invalid', 'is required: a statement belongs to one client')
      return { data: await findTransactionsOf(db, merchantId, request.query.id) }
    },
  )

  registerFeeRoutes(app, deps)
}

async function listAcquirers(db: Db): Promise<LedgerView['acquirers']> {
  const [balances, compared] = await Promise.all([findClearingBalances(db), listComparedBalances(db)])
  const names = [...new Set([...balances.keys(), ...compared.map(({ acquirer }) => acquirer)])].toSorted()
  return names.map((acquirer) => ({
    acquirer,
    ledgerBalance: balances.get(acquirer) ?? 0,
    compared: compared.find((one) => one.acquirer === acquirer) ?? null,
  }))
}

function registerFeeRoutes(app: Server, deps: Deps): void {
  app.get(
    '/dashboard/api/fee',
    {
      config: { access: { permission: 'balance.read' } },
      schema: {
        hide: true,
        querystring: Type.Object(
          { clientId: ClientFilter, isAll: Type.Optional(Type.Boolean()) },
          { additionalProperties: false },
        ),
        response: { 200: DataOf(FeeView), ...problems(401, 403, 404, 422) },
      },
    },
    async (request) => {
      const merchantId = await findShownMerchantId(deps, userOf(request), request.query.clientId)
      return { data: await listFees(deps, { merchantId, isAll: request.query.isAll ?? false }) }
    },
  )

  app.put(
    '/dashboard/api/fee',
    {
      config: { access: { permission: 'fee.write' } },
      schema: {
        hide: true,
        querystring: NoQuery,
        body: Type.Object(
          {
            clientId: Type.String({ maxLength: 128 }),
            operation: Type.Enum(['transaction', 'refund', 'withdrawal']),
            fixed: Amount(0, 'Cents', centsMax),
            basisPoints: Type.Integer({ minimum: 0, maximum: 10_000 }),
            minimum: Amount(0, 'Cents', centsMax),
            maximum: Type.Unsafe<number | null>({ ...Amount(0, 'Cents', centsMax), type: ['integer', 'null'] }),
            returnsPaymentFee: Type.Optional(Type.Boolean()),
            validFrom: Nullable('string', 'Of the rule that the person has read; null without one', 'iso-date-time'),
          },
          { additionalProperties: false },
        ),
        response: { 200: DataOf(FeeView), ...problems(401, 403, 404, 409, 422) },
      },
    },
    async (request) => {
      const { clientId, operation, ...parts } = request.body
      const merchantId = await findShownMerchantId(deps, userOf(request), clientId)
      assert(merchantId, 'a client that is named has a merchant')
      return { data: await setFee(deps, { merchantId, operation, ...parts, by: byUser(userOf(request)) }) }
    },
  )
}

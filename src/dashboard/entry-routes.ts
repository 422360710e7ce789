import { Type } from 'typebox'
import { byUser } from '../audit/record.ts'
import type { Db } from '../db/sql.ts'
import { type NewEntry, postEntry, previewEntry } from '../entries/post.ts'
import {
  assertTwoAccounts,
  creditTypes,
  keyOfProposed,
  type ManualAccount,
  manualAccounts,
  proposeCredit,
  proposeEntry,
} from '../entries/propose.ts'
import { listEntries } from '../entries/store.ts'
import { type SignedIn, userOf } from '../http/caller.ts'
import { Amount, NoQuery, problems } from '../http/schemas.ts'
import type { Server } from '../http/server.ts'
import { writtenTypes } from '../ledger/accounts.ts'
import { findClearingBalances } from '../ledger/clearing-store.ts'
import type { Clock } from '../lib/clock.ts'
import { type FieldError, type FieldErrorCode, invalidFields } from '../lib/errors.ts'
import { toEntryView } from '../operator/entries.ts'
import { fromTxid } from '../pix/ids.ts'
import { EntriesView, EntryPreviewView } from './operator-schema.ts'
import { ClientFilter, findShownMerchantId } from './overview-routes.ts'
import { StateView } from './schema.ts'

type Deps = {
  db: Db
  clock: Clock
  acquirers: { all: readonly { name: string }[] }
  /**
   * In cents. A payment to a merchant above this amount must be approved by a second person; attributions have the same
   * limit.
   */
  attributionApprovalAbove: number
}

/** The rows of the screen's table; `guiche ledger entries` lists older ones. */
const shownMax = 20
/** The same limit as on the command line. */
const centsMax = 1e12
const reading = { access: { permission: 'ledger.read' } } as const
const deciding = { access: { permission: 'reconciliation.decide' } } as const

const Entry = Type.Object(
  {
    type: Type.Enum(writtenTypes),
    clientId: ClientFilter,
    acquirer: Type.String({ minLength: 1, maxLength: 128 }),
    amount: Amount(1, 'Cents', centsMax),
    reference: Type.Optional(Type.String({ minLength: 1, maxLength: 128, pattern: '^[^\\p{Cc}]+$' })),
    description: Type.String({ minLength: 3, maxLength: 255, pattern: '^[^\\p{Cc}]+$' }),
    debit: Type.Optional(Type.Enum(manualAccounts)),
    credit: Type.Optional(Type.Enum(manualAccounts)),
    /** As the dashboard generates it: its last 32 digits are the id of a proposal's record. */
    idempotencyKey: Type.String({ pattern: '^dashboard-[0-9a-f]{32}$' }),
  },
  { additionalProperties: false },
)

type Body = Type.Static<typeof Entry>
type Planned = { entry: NewEntry; manual: Accounts | null; needsApproval: boolean }
type Accounts = { debit: ManualAccount; credit: ManualAccount }

/** The operator's manual entries: listing, previewing, posting and proposing them. For the operator only. */
export function registerEntryRoutes(app: Server, deps: Deps): void {
  app.get(
    '/dashboard/api/entry',
    {
      config: reading,
      schema: {
        hide: true,
        querystring: Type.Object({ clientId: ClientFilter }, { additionalProperties: false }),
        response: { 200: EntriesView, ...problems(401, 403, 404, 422) },
      },
    },
    async (request) => {
      const merchantId = await findShownMerchantId(deps, userOf(request), request.query.clientId)
      const [rows, acquirers] = await Promise.all([
        listEntries(deps.db, { merchantId, limit: shownMax }),
        findAcquirers(deps),
      ])
      return { data: rows.map(toEntryView), acquirers, approvalAbove: deps.attributionApprovalAbove }
    },
  )

  const writing = { hide: true, querystring: NoQuery, body: Entry }
  const failures = problems(401, 403, 404, 422)
  const preview = { ...writing, response: { 200: EntryPreviewView, ...failures } }
  app.post('/dashboard/api/entry/preview', { config: deciding, schema: preview }, async (request) => {
    const { entry, needsApproval } = await plan(deps, userOf(request), request.body)
    return { transfers: await previewEntry(deps, entry), needsApproval }
  })

  const posting = { ...writing, response: { 200: StateView, ...failures } }
  app.post('/dashboard/api/entry', { config: deciding, schema: posting }, async (request) => {
    const { entry, manual, needsApproval } = await plan(deps, userOf(request), request.body)
    if (needsApproval) {
      // Errors are reported now rather than when the second person approves.
      await previewEntry(deps, entry)
      const { id } = await proposePlanned(deps, { entry, manual }, request.body.idempotencyKey)
      return { state: 'proposed', id }
    }
    const { entry: posted } = await postEntry(deps, { ...entry, clientId: request.body.clientId })
    return { state: 'booked', id: posted.id }
  })
}

/**
 * Checks what a form requests, except for account balances.
 *
 * @throws {AppError} `validation_failed`, `not_found`, `entry_not_possible`
 */
async function plan(deps: Deps, user: SignedIn, body: Body): Promise<Planned> {
  const { type, clientId, acquirer, amount, reference, description, debit, credit, idempotencyKey } = body
  const fields: FieldError[] = []
  const refuse = (field: string, code: FieldErrorCode, message: string) => fields.push({ field, code, message })
  if (type === 'write_off' && clientId === undefined) refuse('clientId', 'required', 'is required: whose debt is it?')
  if ((type === 'fee_draw' || type === 'psp_fee') && clientId !== undefined)
    refuse('clientId', 'invalid', 'must be left out: the entry belongs to the operator’s own account')
  if (type === 'manual_entry' && debit === undefined) refuse('debit', 'required', 'is required')
  if (type === 'manual_entry' && credit === undefined) refuse('credit', 'required', 'is required')
  const known = await findAcquirers(deps)
  if (!known.includes(acquirer)) refuse('acquirer', 'not_offered', `must be one of ${known.join(', ')}`)
  if (fields.length > 0) throw invalidFields(fields)
  const merchantId = await findShownMerchantId(deps, user, clientId)
  const manual = type === 'manual_entry' && debit && credit ? { debit, credit } : null
  if (manual) assertTwoAccounts(manual)
  const isCredit = creditTypes.some((one) => one === type) && merchantId !== null
  const needsApproval = manual !== null || (isCredit && amount > deps.attributionApprovalAbove)
  return {
    manual,
    needsApproval,
    entry: {
      type,
      idempotencyKey: needsApproval ? keyOfProposed(toRecordId(idempotencyKey)) : idempotencyKey,
      merchantId,
      acquirer,
      amount,
      ...(reference !== undefined && !manual && { reference }),
      description,
      by: byUser(user),
      // The preview needs the accounts and an id of the proposal. There is no proposal yet, so the id is made from the
      // key.
      ...(manual && { manual, proposalId: toRecordId(idempotencyKey) }),
    },
  }
}

async function proposePlanned(deps: Deps, { entry, manual }: Pick<Planned, 'entry' | 'manual'>, key: string) {
  const { type, merchantId, acquirer, amount, reference = null, description, by } = entry
  const about = { merchantId, acquirer, amount, description, by, recordId: toRecordId(key) }
  if (manual) return await proposeEntry(deps, { ...about, ...manual })
  const credit = creditTypes.find((one) => one === type)
  if (!credit) throw new Error('only what gives a merchant money is proposed')
  return await proposeCredit(deps, { ...about, type: credit, reference })
}

function toRecordId(key: string): string {
  return fromTxid(key.slice(-32)) ?? key
}

async function findAcquirers({ db, acquirers }: Deps): Promise<string[]> {
  const balances = await findClearingBalances(db)
  return [...new Set([...acquirers.all.map(({ name }) => name), ...balances.keys()])].toSorted()
}

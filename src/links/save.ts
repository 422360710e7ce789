import { randomBytes } from 'node:crypto'
import type { Acquirers } from '../acquirers/registry.ts'
import { type By, recordAction } from '../audit/record.ts'
import type { Db, Tx } from '../db/sql.ts'
import { toDate } from '../http/formats.ts'
import { idempotencyKeyReused } from '../http/idempotency-key.ts'
import type { Clock } from '../lib/clock.ts'
import { AppError, type FieldError, invalidFields, refusal } from '../lib/errors.ts'
import { differingPaths } from '../lib/json.ts'
import type { LinkInput } from './schema.ts'
import { newStaticCode } from './static-code.ts'
import {
  countLinks,
  findLink,
  findMerchant,
  insertLink,
  isIdOfOther,
  type LinkRow,
  lockLink,
  updateLink,
} from './store.ts'

/** Far more than a merchant sells by hand; a program has the API. */
const linksMax = 5_000
/** 80 bits: nobody finds a link by trying. */
const slugBytes = 10

type Deps = { db: Db; clock: Clock; acquirers: Acquirers }
type Saving = { merchantId: string; id: string; input: LinkInput; by: By }

/**
 * Creates a link under an id that the caller chose, so that a repeated request creates no second one.
 *
 * @throws {AppError} `validation_failed`, `idempotency_key_reused`
 */
export async function createLink(deps: Deps, { merchantId, id, input, by }: Saving): Promise<void> {
  await deps.db.transaction(async (tx) => {
    const now = deps.clock.now()
    const before = { ...initial, merchant_id: merchantId, id, created_at: now }
    const row = await withStaticCode(tx, deps, { row: toRow(input, before, now), input, now })
    if (await isIdOfOther(tx, row)) throw invalidFields([idTaken])
    if (!(await insertLink(tx, row))) return replay(await findLink(tx, row), row, input)
    if ((await countLinks(tx, merchantId)) > linksMax) throw invalidFields([tooMany])
    await record(tx, { action: 'payment-link.create', row, by, now })
  })
}

/**
 * Called if the id or the slug exists already. Accepts a repeat of the request that created the link. Throws if the
 * content differs from that of the link, or if another link has the slug.
 */
function replay(first: LinkRow | null, requested: LinkRow, { slug }: LinkInput): void {
  if (!first) throw invalidFields([slugTaken])
  // Without a slug, a request means a random one.
  const fields = differingPaths(contentOf(first), contentOf({ ...requested, slug: slug ?? first.slug }))
  if (fields.length > 0) throw idempotencyKeyReused(fields, 'payment link')
}

function contentOf(row: LinkRow) {
  const { slug, title, description, amount, stock } = row
  return {
    ...{ slug, title, description, amount, amountMin: row.amount_min, amountMax: row.amount_max, stock },
    ...{ expiresAt: row.expires_at?.getTime() ?? null, needsCustomer: row.needs_customer },
    ...{ webhookUrl: row.webhook_url, isEnabled: row.is_enabled, hasStaticCode: row.static_txid !== null },
  }
}

/**
 * Replaces the content of a link.
 *
 * @param changedAt `changedAt` of the version that the person has read
 * @throws {AppError} `not_found`, `validation_failed`, `change_not_possible` if somebody has changed it since
 */
export async function changeLink(
  deps: Deps,
  { merchantId, id, input, changedAt, by }: Saving & { changedAt: string },
): Promise<void> {
  await deps.db.transaction(async (tx) => {
    const before = await lockLink(tx, { merchant_id: merchantId, id })
    if (!before) throw unknownLink()
    if (before.changed_at.getTime() !== Date.parse(changedAt))
      throw refusal('change_not_possible', 'changed', 'The payment link was changed meanwhile. Read it again.')
    const now = deps.clock.now()
    const row = await withStaticCode(tx, deps, { row: toRow(input, before, now), input, now })
    if (!(await updateLink(tx, row))) throw invalidFields([slugTaken])
    await record(tx, { action: 'payment-link.change', row, by, now })
  })
}

export function unknownLink(): AppError {
  return new AppError('not_found', { detail: 'There is no payment link with this id.' })
}

const initial = { slug: '', amount: null, static_txid: null, static_uri: null } as const

type Before = Pick<LinkRow, 'merchant_id' | 'id' | 'slug' | 'created_at' | 'amount' | 'static_txid' | 'static_uri'>

function toRow(input: LinkInput, before: Before, now: Date): LinkRow {
  const amount = input.amount ?? null
  const row: LinkRow = {
    merchant_id: before.merchant_id,
    id: before.id,
    slug: input.slug ?? (before.slug || randomBytes(slugBytes).toString('hex')),
    title: input.title.trim(),
    description: input.description?.trim() || null,
    amount,
    amount_min: amount === null ? (input.amountMin ?? null) : null,
    amount_max: amount === null ? (input.amountMax ?? null) : null,
    stock: input.stock ?? null,
    expires_at: toDate(input.expiresAt ?? undefined) ?? null,
    needs_customer: input.needsCustomer,
    webhook_url: input.webhookUrl ?? null,
    is_enabled: input.isEnabled,
    static_txid: before.static_txid,
    static_uri: before.static_uri,
    created_at: before.created_at,
    changed_at: now,
  }
  check(row, input, before)
  return row
}

async function withStaticCode(
  tx: Tx,
  { acquirers }: Pick<Deps, 'acquirers'>,
  { row, input, now }: { row: LinkRow; input: LinkInput; now: Date },
): Promise<LinkRow> {
  if (!input.hasStaticCode || row.static_txid !== null) return row
  const { client_id: clientId, name: merchantName } = await findMerchant(tx, row.merchant_id)
  return { ...row, ...newStaticCode(acquirers, { link: row, clientId, merchantName, now }) }
}

function check(row: LinkRow, { hasStaticCode }: LinkInput, before: Before): void {
  const isStatic = hasStaticCode || before.static_txid !== null
  const errors: FieldError[] = []
  if (row.amount_min !== null && row.amount_max !== null && row.amount_min > row.amount_max)
    errors.push({ field: 'amountMax', code: 'out_of_order', message: 'must not be smaller than amountMin' })
  if (isStatic && row.stock !== null)
    errors.push({ field: 'stock', code: 'not_offered', message: 'is not possible with a static code' })
  if (isStatic && row.expires_at !== null)
    errors.push({ field: 'expiresAt', code: 'not_offered', message: 'is not possible with a static code' })
  if (before.static_txid !== null && row.amount !== before.amount)
    errors.push({
      field: 'amount',
      code: 'not_offered',
      message: 'cannot change: the link has a static code, which may be printed',
    })
  if (errors.length > 0) throw invalidFields(errors)
}

const idTaken: FieldError = { field: 'id', code: 'duplicate', message: 'is the id of another link' }
const slugTaken: FieldError = { field: 'slug', code: 'duplicate', message: 'is the address of another link' }
const tooMany: FieldError = {
  field: 'title',
  code: 'too_many',
  message: `belongs to a new link, but a merchant has at most ${linksMax} links`,
  limit: linksMax,
}

type Recorded = { action: 'payment-link.create' | 'payment-link.change'; row: LinkRow; by: By; now: Date }

async function record(tx: Tx, { action, row, by, now }: Recorded): Promise<void> {
  const { merchant_id: merchantId, id: recordId, slug, amount, is_enabled: isEnabled } = row
  const details = { slug, amount, isEnabled, hasStaticCode: row.static_txid !== null }
  await recordAction(tx, { by, action, merchantId, recordId, details, now })
}

import { createHash } from 'node:crypto'
import { compactVerify, importJWK } from 'jose'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { type ManualClock, manualClock } from '../../test/support/clock.ts'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import { type GeneratedDay, generateDay, generatedDay } from '../../test/support/generated-day.ts'
import { listDiscrepancies, type Reconciling, reconcilingWith } from '../../test/support/reconciling.ts'
import { recordAction } from '../audit/record.ts'
import { findAuditHead } from '../audit/store.ts'
import { createKeyRing } from '../auth/keys.ts'
import { raw, sql } from '../db/sql.ts'
import { post } from '../ledger/post.ts'
import { returnedFromSuspense } from '../ledger/transfers.ts'
import { assert } from '../lib/assert.ts'
import { newUuid } from '../lib/secrets.ts'
import { operatorMerchantId } from '../suspense/status.ts'
import { assertDayIsOver, closeDay, readStatement } from './close.ts'
import { findStatement } from './close-store.ts'
import { confirmDiscrepancy } from './decide.ts'
import { reconciliationJobs } from './jobs.ts'
import { publicStatementKeys, verifyStatement } from './sign.ts'
import type { Statement } from './statement.ts'
import { verifySignedAudit, verifySignedTransfers } from './verify-audit.ts'

const { day } = generatedDay

let database: TestDatabase
let made: GeneratedDay
let clock: ManualClock
let deps: Reconciling

beforeEach(async () => {
  database = await createTestDatabase()
  made = await generateDay(database.db, { seed: 11, agreeing: 100, each: 4 })
  clock = manualClock(new Date('2026-11-21T15:00:00.000Z'))
  deps = reconcilingWith({ db: database.db, clock, send: made.bank.send })
})
afterEach(async () => await database.drop())

async function close(which = day) {
  const closed = await closeDay(deps, { acquirer: deps.acquirer, day: which })
  if (closed.state !== 'closed') throw new Error(closed.error)
  return closed
}

const refused = { status: 503, headers: {}, body: '' }

async function closeByJob(some = deps): Promise<void> {
  await reconciliationJobs(some)['reconciliation.close']?.({}, new AbortController().signal)
}

async function versions(): Promise<string[]> {
  const rows = await database.db.query<{ day: string; version: number }>(sql`
    select day::text, version from closed_days order by closed_days.day, version`)
  return rows.map((row) => `${row.day} ${row.version}`)
}

async function last(which: string): Promise<Statement> {
  const row = await findStatement(database.db, { acquirer: 'bank', day: which })
  assert(row, 'the day is closed')
  return readStatement(row)
}

const sumOf = (amounts: number[]) => amounts.reduce((sum, amount) => sum + amount, 0)

it('totals both sides of a day, so that each closing follows from its opening', async () => {
  // Sent back from suspense on that day.
  await database.db.transaction(async (tx) => {
    const about = { eventKey: 'suspense:test', recordType: 'suspense', recordId: newUuid() } as const
    const now = new Date(generatedDay.to.getTime() - 60_000)
    const transfers = returnedFromSuspense(100)
    await post(tx, { ...about, merchantId: operatorMerchantId, transfers, acquirer: 'bank', now })
  })
  const { statement } = await close()
  const { ledgerSide, acquirerSide: acquirer } = statement
  expect(ledgerSide.closing).toBe(
    ledgerSide.opening +
      ledgerSide.in.sum -
      ledgerSide.returned.sum -
      ledgerSide.paidOut.sum +
      ledgerSide.payoutsReturned.sum +
      ledgerSide.corrections.sum,
  )
  expect(acquirer.closing).toBe(
    acquirer.opening + acquirer.in.sum - acquirer.returned.sum - acquirer.paidOut.sum - (acquirer.fees ?? 0),
  )
  const ofDay = [...made.bank.payments.values()].filter(({ at }) => at >= generatedDay.from && at < generatedDay.to)
  expect(acquirer.in).toEqual({ count: ofDay.length, sum: sumOf(ofDay.map(({ amount }) => amount)) })
  expect(acquirer.fees).toBe(sumOf(ofDay.map(({ fee }) => fee ?? 0)))
  expect(statement.differences).toHaveLength(made.expected.size)

  // The closing equals the ledger's balance, and the next day begins there.
  clock.set(new Date('2026-11-22T15:00:00.000Z'))
  const next = await close('2026-11-21')
  expect(next.statement.ledgerSide.opening).toBe(ledgerSide.closing)
  expect(next.statement.dayBefore).toMatchObject({ day, version: 1 })
  const [ledger] = await database.db.query<{ balance: number }>(sql`
    select -sum(balance) as balance from ledger_accounts where account like 'acquirer:%'`)
  expect(next.statement.ledgerSide.closing).toBe(ledger?.balance)
})

it('counts a draw of several merchants’ fees once, and a move out as paid out, as the acquirer does', async () => {
  const before = (await close()).statement.ledgerSide
  const at = new Date(generatedDay.from.getTime() + 60_000)
  await database.db.query(sql`
    insert into ledger_transfers (merchant_id, event_key, position, kind, debit, credit, amount, debit_balance, credit_balance, record_type,
      record_id, created_at)
    select gen_random_uuid(), event, 0, kind, debit, 'acquirer:bank', amount, 0, 0, type, gen_random_uuid(), ${at}
    from (values ('fee_draw:1', 'fees_drawn', 'fees', 50, 'fee_draw'), ('fee_draw:1', 'fees_drawn', 'fees', 20, 'fee_draw'),
      ('move:1', 'moved_out', 'available', 300, 'move_out')) transfer (event, kind, debit, amount, type)`)
  const { ledgerSide } = (await close()).statement
  const paidOut = { count: before.paidOut.count + 2, sum: before.paidOut.sum + 370 }
  expect(ledgerSide).toEqual({ ...before, paidOut, closing: before.closing - 370 })
})

it('counts what the acquirer returned on the day itself, also of a payment returned in parts', async () => {
  const payment = [...made.bank.payments.values()].find(({ returns, amount }) => returns.length === 0 && amount > 1_000)
  if (!payment) throw new Error('a payment is not returned')
  const returned = async () => (await close()).statement.acquirerSide.returned
  const before = await returned()
  const later = new Date(generatedDay.to.getTime() + 5 * 60_000)
  const part = (id: string, amount: number, at: Date) => payment.returns.push({ id, amount, at, nature: 'ORIGINAL' })
  part('yesterday', 100, new Date(generatedDay.from.getTime() - 60_000))
  part('first', 20, new Date(generatedDay.from.getTime()))
  part('second', 3, new Date(generatedDay.to.getTime() - 1))
  part('tomorrow', 500, later)
  expect(await returned()).toEqual({ count: before.count + 2, sum: before.sum + 23 })
})

it('signs a statement that anybody can verify with the public keys alone, and nobody can change', async () => {
  const { jws, statement, sha256 } = await close()
  const keys = await publicStatementKeys(database.db)
  expect(await verifyStatement(jws, keys)).toEqual(JSON.parse(JSON.stringify(statement)))
  expect(createHash('sha256').update(jws).digest('hex')).toBe(sha256)
  // As in docs/reconciliation.md.
  const [jwk] = keys.keys
  if (!jwk) throw new Error('there is a key')
  expect((await compactVerify(jws, await importJWK(jwk, 'ES256'))).protectedHeader).toMatchObject({ kid: jwk.kid })
  expect(JSON.stringify(jwk)).not.toContain('"d"')

  const [header, payload = '', signature] = jws.split('.')
  const text = Buffer.from(payload, 'base64url').toString().replace('"version":1', '"version":2')
  const changed = `${header}.${Buffer.from(text).toString('base64url')}.${signature}`
  await expect(verifyStatement(changed, keys)).rejects.toThrow(/^The signature is not valid/)
  await expect(verifyStatement('not a statement', keys)).rejects.toThrow(/^The signature is not valid/)
  // Access tokens have other keys.
  const ring = createKeyRing(deps)
  await ring.signingKey()
  await expect(verifyStatement(jws, { keys: await ring.publicKeys() })).rejects.toThrow(/not among the given keys/)
})

it('adds no version while nothing changes, and one with the changes when something has', async () => {
  const first = await close()
  clock.advance(60_000)
  const again = await close()
  expect(again).toMatchObject({ isNew: false, sha256: first.sha256, jws: first.jws })

  const open = await listDiscrepancies(database.db, { acquirer: 'bank', onlyOpen: true })
  const missing = open.find((row) => row.class === 'missing_in_ledger')
  const wrong = open.find((row) => row.class === 'amount')
  if (!missing || !wrong) throw new Error('they differ')
  for (const { id } of [missing, wrong]) await confirmDiscrepancy(deps, { id, by: { actor: 'cli:test' } })
  clock.advance(60_000)
  const second = await close()
  expect(second).toMatchObject({ isNew: true, statement: { version: 2, former: { version: 1, sha256: first.sha256 } } })
  const { changes } = second.statement
  expect(changes?.postedSince).toEqual({ count: 1, sum: made.bank.payments.get(missing.reference)?.amount })
  expect(changes?.totals.map(({ name }) => name)).toContain('dated.sum')
  expect(changes?.differences).toEqual(
    expect.arrayContaining([
      { id: missing.id, class: 'missing_in_ledger', reference: missing.reference, before: 'open', after: 'confirmed' },
      { id: wrong.id, class: 'amount', reference: wrong.reference, before: 'open', after: 'confirmed' },
    ]),
  )
  // The signed version is kept.
  expect(await findStatement(database.db, { acquirer: 'bank', day, version: 1 })).toMatchObject({
    statement: first.jws,
  })
  await expect(database.db.query(sql`update closed_days set sha256 = ''`)).rejects.toThrow(/permission denied/)
  await expect(database.db.query(sql`delete from statement_keys`)).rejects.toThrow(/permission denied/)
})

it('signs the head of the audit log, so that a log rewritten as a whole is found', async () => {
  const record = async (actor: string) =>
    await database.db.transaction(
      async (tx) => await recordAction(tx, { by: { actor }, action: 'suspense.undo', now: clock.now() }),
    )
  await record('cli:ana')
  await record('cli:bruno')
  const { statement } = await close()
  expect(statement.audit).toEqual(await findAuditHead(database.db))
  await record('cli:carla')
  expect((await verifySignedAudit(database.db)).breaches).toEqual([])
  const undone = database.db.transaction(async (tx) => {
    await tx.query(
      raw('alter table audit_log disable trigger audit_log_is_kept; alter table audit_chain disable trigger all'),
    )
    await tx.query(
      raw(`grant update on audit_log, audit_chain to current_user; update audit_log set actor = 'cli:nobody'`),
    )
    for (const position of [1, 2, 3, 4])
      await tx.query(sql`
        update audit_chain c set hash = audit_entry_hash(
          coalesce((select hash from audit_chain where position = ${position} - 1), ''), a)
        from audit_log a where a.id = c.entry_id and c.position = ${position}`)
    expect((await verifySignedAudit(tx)).breaches).toEqual([
      // The close froze payouts, which is an entry of its own.
      { entry: 3, detail: `is not the entry that was signed in the statement of bank for ${day}, version 1` },
    ])
    throw new Error('undone')
  })
  await expect(undone).rejects.toThrow('undone')
})

it('signs a hash over the transfers of the day, so that a changed, added or deleted transfer is found', async () => {
  const { statement } = await close()
  const [posted] = await database.db.query<{ count: number }>(sql`
    select count(*) as count from ledger_transfers
    where created_at >= ${generatedDay.from} and created_at < ${generatedDay.to}`)
  expect(statement.transfers).toEqual({ count: posted?.count, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) })
  expect(await verifySignedTransfers(database.db)).toEqual([])
  const ofDay = sql`created_at >= ${generatedDay.from} and created_at < ${generatedDay.to}`
  const one = sql`(merchant_id, id) in (select merchant_id, id from ledger_transfers where ${ofDay} order by id limit 1)`
  for (const change of [
    sql`update ledger_transfers set amount = amount + 1 where ${one}`,
    sql`update ledger_transfers set created_at = created_at + interval '2 days' where ${one}`,
    sql`delete from ledger_transfers where ${one}`,
    sql`
      insert into ledger_transfers (merchant_id, event_key, position, kind, debit, credit, amount, debit_balance, credit_balance, record_type,
        record_id, created_at)
      select merchant_id, 'added', 0, kind, debit, credit, amount, debit_balance, credit_balance, record_type, record_id, created_at
      from ledger_transfers where ${one}`,
  ]) {
    const undone = database.db.transaction(async (tx) => {
      // Only the owner of the table can do this.
      await tx.query(raw('alter table ledger_transfers disable trigger ledger_transfers_are_kept'))
      await tx.query(raw('grant update, delete on ledger_transfers to current_user'))
      await tx.query(change)
      expect(await verifySignedTransfers(tx)).toMatchObject([
        { rule: 'signed_day', detail: expect.stringContaining(`transfers of ${day} `) },
      ])
      throw new Error('undone')
    })
    await expect(undone).rejects.toThrow('undone')
  }
})

it('verifies the transfers of a day against its last version, so that closing the day again accepts a change', async () => {
  await close()
  await database.db.query(sql`
    insert into ledger_transfers (merchant_id, event_key, position, kind, debit, credit, amount, debit_balance, credit_balance, record_type,
      record_id, created_at)
    select merchant_id, 'added', 0, kind, debit, credit, amount, debit_balance, credit_balance, record_type, record_id, created_at
    from ledger_transfers where created_at >= ${generatedDay.from} and created_at < ${generatedDay.to} limit 1`)
  expect((await verifySignedTransfers(database.db)).map(({ rule }) => rule)).toEqual(['signed_day'])
  expect((await close()).statement.version).toBe(2)
  expect(await verifySignedTransfers(database.db)).toEqual([])
})

it('signs no transfers of a day that has just ended, and all of them when the job closes it again', async () => {
  clock.set(new Date(generatedDay.to.getTime() + 60_000))
  expect((await close()).statement.transfers).toBeNull()
  await closeByJob()
  expect(await versions()).toEqual(['2026-11-20 1'])
  clock.set(new Date(generatedDay.to.getTime() + 60 * 60_000))
  await closeByJob()
  await closeByJob()
  expect(await versions()).toEqual(['2026-11-20 1', '2026-11-20 2'])
  expect((await last(day)).transfers).toMatchObject({ sha256: expect.any(String) })
})

it('closes the days before a manually closed day, and then that day again, so that it opens with their closing', async () => {
  clock.set(new Date('2026-11-20T15:00:00.000Z'))
  await closeByJob()
  clock.set(new Date('2026-11-22T15:00:00.000Z'))
  const broken = reconcilingWith({ db: database.db, clock, send: async () => refused })
  await closeByJob(broken)
  await close('2026-11-21')
  await closeByJob(broken)
  expect(await versions()).toEqual(['2026-11-19 1', '2026-11-21 1'])
  await closeByJob()
  await closeByJob()
  expect(await versions()).toEqual(['2026-11-19 1', '2026-11-20 1', '2026-11-21 1', '2026-11-21 2'])
  const [before, after] = [await last('2026-11-20'), await last('2026-11-21')]
  // The control: the two sides differ.
  expect(before.acquirerSide.closing).not.toBe(before.ledgerSide.closing)
  expect(after.acquirerSide.opening).toBe(before.acquirerSide.closing)
  expect(after.dayBefore).toMatchObject({ day: '2026-11-20', version: 1 })
})

it('closes a day again after the day before it was closed again, and signs no transfer that was added to it since', async () => {
  await close()
  clock.set(new Date('2026-11-23T15:00:00.000Z'))
  await closeByJob()
  const firsts = ['2026-11-20 1', '2026-11-21 1', '2026-11-22 1']
  expect(await versions()).toEqual(firsts)
  const late = { endToEndId: 'E12345678202611201200latelatelate', txid: null, amount: 4_321, fee: null, returns: [] }
  made.bank.payments.set(late.endToEndId, { ...late, at: new Date('2026-11-20T12:00:00.000Z') })
  await database.db.query(sql`
    insert into ledger_transfers (merchant_id, event_key, position, kind, debit, credit, amount, debit_balance, credit_balance, record_type,
      record_id, created_at)
    select merchant_id, 'added', 0, kind, debit, credit, amount, debit_balance, credit_balance, record_type, record_id, '2026-11-21T12:00:00Z'
    from ledger_transfers order by merchant_id, id limit 1`)
  await close()
  await closeByJob()
  await closeByJob()
  expect(await versions()).toEqual([...firsts, '2026-11-20 2', '2026-11-21 2', '2026-11-22 2'].toSorted())
  const [changed, next, after] = [await last('2026-11-20'), await last('2026-11-21'), await last('2026-11-22')]
  expect(next.acquirerSide.opening).toBe(changed.acquirerSide.closing)
  expect(after.acquirerSide.opening).toBe(next.acquirerSide.closing)
  const opening = {
    name: 'acquirer.opening',
    after: next.acquirerSide.opening,
    before: next.acquirerSide.opening - 4_321,
  }
  expect(next.changes?.totals).toContainEqual(opening)
  expect(await verifySignedTransfers(database.db)).toMatchObject([
    { detail: expect.stringContaining('of 2026-11-21 ') },
  ])
})

it('the signed audit log can be verified while the first day closes, which creates the key', async () => {
  let closing: Promise<unknown> | null = null
  const { breaches } = await verifySignedAudit({
    ...database.db,
    query: async (statement, name) => {
      const rows = await database.db.query(statement, name)
      closing ??= close()
      await closing
      return rows as never
    },
  })
  expect(breaches).toEqual([])
})

it('signs one version when two close at once', async () => {
  const [one, other] = await Promise.all([close(), close()])
  expect([one.statement.version, other.statement.version]).toEqual([1, 1])
  expect(one.sha256).toBe(other.sha256)
  expect([one.isNew, other.isNew].toSorted()).toEqual([false, true])
})

it('closes nothing while it cannot read the acquirer’s lists or loses what it read, nor a day that is not over', async () => {
  const cut = reconcilingWith({
    db: database.db,
    clock,
    send: async (request) =>
      request.path.includes('enviados') ? { status: 500, headers: {}, body: '' } : await made.bank.send(request),
  })
  expect(await closeDay(cut, { acquirer: cut.acquirer, day })).toMatchObject({ state: 'interrupted' })
  // A crash of PostgreSQL empties the table of what was read.
  const send: typeof made.bank.send = async (request) => {
    await database.db.query(sql`truncate reconciliation_pairs`)
    return await made.bank.send(request)
  }
  const crashing = reconcilingWith({ db: database.db, clock, send })
  await expect(closeDay(crashing, { acquirer: crashing.acquirer, day })).rejects.toThrow(/lost the rows/)
  expect(await findStatement(database.db, { acquirer: 'bank', day })).toBeNull()
  await expect(close('2026-11-21')).rejects.toThrow(/is not over in Brasília/)
})

it('closes no day that is not over by PostgreSQL’s clock, on a machine whose clock is a day ahead', async () => {
  const { now } = Date
  const ahead = vi.spyOn(Date, 'now').mockImplementation(() => now() + 24 * 3_600_000)
  try {
    await expect(close()).rejects.toThrow(/is not over in Brasília/)
    await reconciliationJobs(deps)['reconciliation.close']?.({}, new AbortController().signal)
  } finally {
    ahead.mockRestore()
  }
  const signed = sql`select day::text from closed_days where signed_at < '2026-11-20T16:00:00.000Z'`
  expect(await database.db.query(signed)).toEqual([{ day: '2026-11-19' }])
  expect(await versions()).toEqual(['2026-11-19 1'])
  expect((await close()).statement.version).toBe(1)
})

it('closes a day once it is over in Brasília, and refuses an invalid date', () => {
  const now = new Date('2026-11-21T03:00:00.000Z')
  expect(() => assertDayIsOver('2026-11-20', now)).not.toThrow()
  expect(() => assertDayIsOver('2026-11-20', new Date(now.getTime() - 1))).toThrow(/is not over in Brasília/)
  for (const text of ['2026-02-30', '2026-13-01', '20/11/2026', ''])
    expect(() => assertDayIsOver(text, now)).toThrow(/is not a date/)
})

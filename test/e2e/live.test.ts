import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createLive } from '../../src/dashboard/live.ts'
import { sql } from '../../src/db/sql.ts'
import { setWithdrawalLimits } from '../../src/withdrawals/limits.ts'
import { dispute, pollUntil } from '../support/disputes.ts'
import { type LiveReader, readLive } from '../support/live.ts'
import { charge, chargeMany, payAt, untilStatus } from '../support/payments.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { type Browser, findSandboxMerchant, inviteUser, openBrowser, password } from '../support/users.ts'
import { eventually } from '../support/webhooks.ts'
import { fund, withdraw } from '../support/withdrawals.ts'

let service: TestService
/** Another process on the same database: it sends the streams that `open` reads. */
let other: TestService
let merchantId: string
let readers: LiveReader[] = []

beforeAll(async () => {
  service = await startTestService({ environment: { TOKEN_LIFETIME_SECONDS: '86400' } })
  other = await startTestService({ database: service, clock: service.clock })
  merchantId = await findSandboxMerchant(service)
})
afterAll(async () => {
  await Promise.all(readers.map(async ({ close }) => await close()))
  await other.stop()
  await service.stop()
})

async function personOf(role: string, ofMerchant: string | null): Promise<Browser> {
  service.clock.advance(60_000)
  return await openBrowser(service, { email: await inviteUser(service, { role, merchantId: ofMerchant }), password })
}

async function open(browser: Browser): Promise<LiveReader> {
  const reader = await readLive(other, browser)
  readers.push(reader)
  return reader
}

const closeAll = async () => {
  await Promise.all(readers.map(async ({ close }) => await close()))
  readers = []
}

async function makeOtherMerchant(): Promise<string> {
  const admin = await personOf('admin', null)
  const made = await admin.call<{ merchantId: string }>('/dashboard/api/client', {
    body: { name: 'Loja Beta', scopes: ['transaction.read'] },
  })
  return made.body.merchantId
}

describe('the stream of changes', () => {
  it('reports a payment that another process settled, with its amount, to those who may see it', async () => {
    const owner = await open(await personOf('owner', merchantId))
    const support = await open(await personOf('support', null))
    const outsider = await open(await personOf('owner', await makeOtherMerchant()))
    const { id, uri } = await charge(service)
    await payAt(service, uri)
    const paid = { kind: 'transaction', clientId: service.sandbox.clientId, status: 'PAID', count: 1 }
    for (const reader of [owner, support]) {
      await eventually(() => reader.count('transaction', 'PAID') === 1)
      const changes = reader.messages.flatMap(({ changes: all }) => all)
      expect(changes).toContainEqual({ ...paid, records: [{ id, amount: 1000 }] })
      expect(changes.find(({ status }) => status === 'PIX_QRCODE_GENERATED')?.records).toEqual([{ id, amount: null }])
    }
    expect(outsider.messages).toEqual([])
    expect(outsider.names).toEqual(['connected'])
    await closeAll()
  })

  it('reports withdrawals, approvals and disputes only to roles that may see them', async () => {
    await fund(service, 500_000)
    await setWithdrawalLimits(service, { by: { actor: 'cli:test' }, merchantId, approvalAbove: 100 })
    const finance = await open(await personOf('finance', merchantId))
    const developer = await open(await personOf('developer', merchantId))
    const approver = await personOf('admin', null)
    const admin = await open(approver)
    const withdrawal = await withdraw(service, { amount: 5_000 })
    await eventually(() => admin.count('approval', 'approval') === 1 && finance.count('approval', 'approval') === 1)
    expect((await approver.call(`/dashboard/api/withdrawal/${withdrawal}/approval`, { method: 'POST' })).status).toBe(
      200,
    )
    await eventually(() => finance.count('approval', 'closed') === 1 && finance.count('withdrawal', 'PROCESSED') === 1)

    const { id, uri } = await charge(service)
    const { body } = await payAt(service, uri)
    await untilStatus(service, id, 'PAID')
    await dispute(service, String(body.endToEndId))
    await pollUntil(service, id, 'BLOCKED')
    await eventually(() => finance.count('dispute', 'open') === 1 && admin.count('dispute', 'open') === 1)
    // The developer gets the newest change of all, and none of the kinds that the role may not see.
    await eventually(() => developer.count('transaction', 'BLOCKED') === 1)
    const kinds = new Set(developer.messages.flatMap(({ changes }) => changes.map(({ kind }) => kind)))
    expect([...kinds]).toEqual(['transaction'])
    await closeAll()
  })

  it('reports a proposal, and that it was decided, only to the operator’s users who may see it', async () => {
    await setWithdrawalLimits(service, { by: { actor: 'cli:test' }, merchantId, perDay: 1_000_000 })
    const [proposer, decider] = [await personOf('finance', null), await personOf('admin', null)]
    const [admin, owner] = [await open(decider), await open(await personOf('owner', merchantId))]
    const path = `/dashboard/api/withdrawal-limits?clientId=${service.sandbox.clientId}`
    const raised = await proposer.call<{ proposal: { id: string } }>(path, {
      method: 'PATCH',
      body: { perDay: 2_000_000 },
    })
    expect(raised.status, raised.text).toBe(200)
    await eventually(() => admin.count('approval', 'proposed') === 1)
    const decision = `/dashboard/api/proposal/${raised.body.proposal.id}/rejection`
    expect((await decider.call(decision, { method: 'POST', body: {} })).status).toBe(200)
    await eventually(() => admin.count('approval', 'closed') === 1)
    expect(owner.messages).toEqual([])
    await closeAll()
  })

  it('sends few messages for many changes, and counts them all', async () => {
    const owner = await open(await personOf('owner', merchantId))
    const startedAt = performance.now()
    const many = await chargeMany(service, 150)
    await eventually(() => owner.count('transaction', 'PIX_QRCODE_GENERATED') === many.length)
    // Two a second at most.
    const seconds = (performance.now() - startedAt) / 1_000
    expect(owner.messages.length).toBeLessThanOrEqual(2 * seconds + 2)
    for (const { changes } of owner.messages)
      for (const { records } of changes) expect(records.length).toBeLessThanOrEqual(10)
    await closeAll()
  })

  it('reports that the role of the user has changed, once', async () => {
    const person = await personOf('developer', merchantId)
    const [changed, staying] = [await open(person), await open(await personOf('owner', merchantId))]
    const { body } = await person.call<{ user: { id: string } }>('/dashboard/api/session')
    await service.db.query(sql`update users set role = 'finance' where id = ${body.user.id}`)
    await eventually(() => changed.names.includes('role-changed'))
    const { uri } = await charge(service)
    await payAt(service, uri)
    await eventually(() => changed.count('transaction', 'PAID') === 1)
    expect(changed.names.filter((name) => name === 'role-changed')).toHaveLength(1)
    expect(staying.names).not.toContain('role-changed')
    await closeAll()
  })

  it('ends when the session is ended, or the user is disabled', async () => {
    const leaving = await personOf('owner', merchantId)
    const disabled = await personOf('developer', merchantId)
    const staying = await open(await personOf('owner', merchantId))
    const [first, second] = [await open(leaving), await open(disabled)]
    await leaving.call('/dashboard/api/session', { method: 'DELETE' })
    const { body } = await disabled.call<{ user: { id: string } }>('/dashboard/api/session')
    await service.db.query(sql`update users set disabled_at = now() where id = ${body.user.id}`)
    await first.ended
    await second.ended
    expect([first.names.at(-1), second.names.at(-1)]).toEqual(['ended', 'ended'])
    expect(staying.names).not.toContain('ended')
    expect((await open(leaving)).status).toBe(401)
    await closeAll()
  })

  it('does not end for a dashboard that opens while the sessions of others are checked', async () => {
    const viewer = { id: 'ana', role: 'owner', merchant: null, permissions: [], needsSecondFactor: false }
    let finishCheck = () => {}
    const checked = new Promise<void>((resolve) => {
      finishCheck = resolve
    })
    const live = createLive({
      db: service.db,
      log: pino({ level: 'silent' }),
      findPeople: async (sessions) => {
        await checked
        return new Map(sessions.map((session) => [session.toString('hex'), viewer]))
      },
    })
    // The first one begins the check.
    const texts = ['first', 'second'].map((session) => {
      const read = { text: '' }
      live.open(viewer, Buffer.from(session))?.on('data', (part: Buffer) => {
        read.text += part.toString()
      })
      return read
    })
    finishCheck()
    await eventually(() => texts.every(({ text }) => text.includes('event: connected')))
    for (const { text } of texts) expect(text).not.toContain('event: ended')
    await live.stop()
  })

  it('is limited per person, and answers 204 to a request that does not accept events', async () => {
    const browser = await personOf('owner', merchantId)
    for (let count = 0; count < 20; count += 1) expect((await open(browser)).status).toBe(200)
    expect((await open(browser)).status).toBe(429)
    expect((await browser.call('/dashboard/api/live')).status).toBe(204)
    await closeAll()
    await eventually(async () => (await open(browser)).status === 200)
    await closeAll()
  })
})

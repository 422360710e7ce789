import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { sql } from '../../src/db/sql.ts'
import { invite, inviteToResetPassword } from '../../src/users/invite.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { acceptInvitation, type Browser, openBrowser, password } from '../support/users.ts'
import { eventually } from '../support/webhooks.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(async () => await service.stop())
// Keeps the attempts of one test from counting in the next.
beforeEach(() => service.clock.advance(60 * 60_000))

type Person = Browser & { id: string; email: string }

let made = 0
async function newUser(role: string): Promise<Person> {
  made += 1
  const email = `person${made}@example.com`
  const given = { email, role, merchantId: null, invitedBy: null }
  const token = await service.db.transaction(async (tx) => await invite(tx, given, service.clock.now()))
  const browser = await acceptInvitation(service, token, { name: 'Ana Souza', password })
  const { body } = await browser.call<{ user: { id: string } }>('/dashboard/api/session')
  return { ...browser, id: body.user.id, email }
}

const tokenOf = (url: string) => url.split('/').at(-1) ?? ''
const shown = async (token: string) =>
  (await service.call(`/dashboard/api/invitation/${token}`, { token: null })).status
const change = async (by: Person, { id }: Person, body: object) =>
  (await by.call(`/dashboard/api/user/${id}`, { method: 'PATCH', body })).status

async function linkFrom(admin: Person, email: string): Promise<string> {
  const body = { email, role: 'admin' }
  const answer = await admin.call<{ url: string }>('/dashboard/api/user', { method: 'POST', body })
  return tokenOf(answer.body.url)
}

it('a person who is disabled, or may no longer invite, leaves no valid link behind', async () => {
  const admin = await newUser('admin')
  const [fired, moved, kept] = [await newUser('admin'), await newUser('admin'), await newUser('admin')]
  const links = [
    await linkFrom(fired, 'fired-again@example.com'),
    await linkFrom(moved, 'moved-again@example.com'),
    await linkFrom(kept, 'new@example.com'),
  ]
  expect(await change(admin, fired, { isDisabled: true })).toBe(200)
  expect(await change(admin, moved, { role: 'support' })).toBe(200)
  expect(await change(admin, kept, { isDisabled: false })).toBe(200)
  expect(await Promise.all(links.map(shown))).toEqual([404, 404, 200])
})

it('a password reset link is not valid while its user is disabled', async () => {
  const [admin, other] = [await newUser('admin'), await newUser('support')]
  const reset = await admin.call<{ url: string }>(`/dashboard/api/user/${other.id}/reset`, { method: 'POST', body: {} })
  const token = tokenOf(reset.body.url)
  await change(admin, other, { isDisabled: true })
  const body = { password: 'another good password' }
  const refused = await service.call(`/dashboard/api/invitation/${token}`, { token: null, body })
  expect([refused.status, refused.body.code]).toEqual([404, 'not_found'])
  await change(admin, other, { isDisabled: false })
  expect((await service.call(`/dashboard/api/invitation/${token}`, { token: null, body })).status).toBe(200)
})

it('the link for the first admin, which is in the log, is invalid once there is one', async () => {
  const fresh = await startTestService()
  const token = tokenOf(fresh.firstAdminUrl ?? '')
  const given = { email: 'admin@example.com', role: 'admin', merchantId: null, invitedBy: null }
  const other = await fresh.db.transaction(async (tx) => await invite(tx, given, fresh.clock.now()))
  await acceptInvitation(fresh, other, { name: 'Ana', password })
  expect((await fresh.call(`/dashboard/api/invitation/${token}`, { token: null })).status).toBe(404)
  await fresh.stop()
})

it('a link for the first admin ends when a user becomes an admin, or is enabled again as one', async () => {
  const [admin, other] = [await newUser('admin'), await newUser('support')]
  const first = { email: null, role: 'admin', merchantId: null, invitedBy: null }
  for (const body of [{ role: 'admin' }, { isDisabled: false }]) {
    const token = await service.db.transaction(async (tx) => await invite(tx, first, service.clock.now()))
    expect(await shown(token)).toBe(200)
    expect(await change(admin, other, body)).toBe(200)
    expect(await shown(token)).toBe(404)
    expect(await change(admin, other, { isDisabled: true })).toBe(200)
  }
})

const attempts = {
  'a sign-in': async ({ email }: Person) => (await openBrowser(service, { email, password })).status,
  'a password reset link': async (_: Person, token: string) =>
    (await service.call(`/dashboard/api/invitation/${token}`, { token: null, body: { password: 'another good one' } }))
      .status,
  'a change of the password': async (person: Person) => {
    const body = { current: password, password: 'another good one' }
    return (await person.call('/dashboard/api/password', { method: 'PUT', body })).status
  },
}

it.each([
  ['a sign-in', 'the password changes', sql`password_hash = password_hash || 'x'`, 401],
  ['a sign-in', 'the user is disabled', sql`disabled_at = now()`, 401],
  ['a password reset link', 'the user is disabled', sql`disabled_at = now()`, 404],
  ['a change of the password', 'the password changes', sql`password_hash = password_hash || 'x'`, 422],
  ['a change of the password', 'the user is disabled', sql`disabled_at = now()`, 422],
] as const)('%s fails if %s at the same moment', async (kind, _, changed, refused) => {
  const person = await newUser('support')
  const user = { id: person.id, merchant_id: null, role: 'support' as const }
  const token = await service.db.transaction(
    async (tx) => await inviteToResetPassword(tx, user, null, service.clock.now()),
  )
  // Both changes end all sessions.
  expect(await duringChange(person, changed, async () => await attempts[kind](person, token))).toBe(refused)
  const rows = await service.db.query(sql`select from sessions where user_id = ${person.id}`)
  expect(rows).toEqual([])
})

const managing = {
  'an invitation': async (by: Person) =>
    await by.call('/dashboard/api/user', { method: 'POST', body: { email: 'accomplice@example.com', role: 'admin' } }),
  'a reset': async (by: Person, { id }: Person) =>
    await by.call(`/dashboard/api/user/${id}/reset`, { method: 'POST', body: { secondFactor: true } }),
  'a change of their own account': async (by: Person) =>
    await by.call(`/dashboard/api/user/${by.id}`, { method: 'PATCH', body: { role: 'admin', isDisabled: false } }),
}

it.each([
  ['an invitation', 'is disabled', sql`disabled_at = now()`],
  ['an invitation', 'becomes support', sql`role = 'support'`],
  ['a reset', 'is disabled', sql`disabled_at = now()`],
  ['a change of their own account', 'is disabled', sql`disabled_at = now()`],
  ['a change of their own account', 'becomes support', sql`role = 'support'`],
] as const)('%s by an admin who %s at the same moment is refused', async (action, _, changed) => {
  const [leaving, other] = [await newUser('admin'), await newUser('support')]
  const stateOf = async () =>
    await service.db.query(sql`select role, disabled_at is null as enabled from users where id = ${leaving.id}`)
  const [before] = await stateOf()
  const request = async () => (await managing[action](leaving, other)).status
  expect(await duringChange(leaving, changed, request)).toBe(403)
  expect(await stateOf()).not.toEqual([before])
  expect(await service.db.query(sql`select from invitations where invited_by = ${leaving.id}`)).toEqual([])
})

it('two admins may reset each other at the same moment', async () => {
  for (let round = 0; round < 5; round++) {
    const [one, other] = [await newUser('admin'), await newUser('admin')]
    const answers = await Promise.all([managing['a reset'](one, other), managing['a reset'](other, one)])
    // The first one ends the session of the second.
    expect([[201, 201].join(), [201, 401].join()]).toContain(
      answers
        .map(({ status }) => status)
        .sort()
        .join(),
    )
  }
})

/** Changes a user and ends their sessions, in a commit for which the request has to wait, and returns its answer. */
async function duringChange(
  { id }: Person,
  changed: ReturnType<typeof sql>,
  request: () => Promise<number>,
): Promise<number> {
  let answer: number | null = null
  let requested: Promise<number> | undefined
  const isWaiting = async () => {
    const [row] = await service.db.query<{ waits: boolean }>(sql`
      select exists (
        select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock') as waits`)
    return row?.waits ?? false
  }
  await service.db.transaction(async (tx) => {
    await tx.query(sql`update users set ${changed} where id = ${id}`)
    await tx.query(sql`delete from sessions where user_id = ${id}`)
    requested = request().then((status) => (answer = status))
    await eventually(async () => answer !== null || (await isWaiting()))
  })
  return (await requested) ?? 0
}

it('of two admins who disable each other concurrently one is left', async () => {
  for (let round = 0; round < 5; round++) {
    const [one, other] = [await newUser('admin'), await newUser('admin')]
    await service.db.query(sql`update users set disabled_at = now() where id <> all (${[one.id, other.id]}::uuid[])`)
    const disabled = { isDisabled: true }
    const statuses = await Promise.all([change(one, other, disabled), change(other, one, disabled)])
    expect(statuses.filter((status) => status === 200)).toHaveLength(1)
  }
})

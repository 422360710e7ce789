import { Type } from 'typebox'
import type { Db } from '../db/sql.ts'
import { callerOf } from '../http/caller.ts'
import { NoQuery, problems } from '../http/schemas.ts'
import type { Server } from '../http/server.ts'
import { enqueueJobs } from '../jobs/jobs.ts'
import type { Clock } from '../lib/clock.ts'
import { fromTxid, toTxid } from '../pix/ids.ts'
import { expiryGraceMs } from '../transactions/check.ts'
import { addOffset, findOwn, listOpenIds, moveCharges, moveChecks, moveDeliveries } from './clock-store.ts'

/** What has come due at the simulated network. */
export type DueCountsAtBank = { charges: number; payments: number; returns: number; disputes: number; payouts: number }

/** Charges by their txid and payouts by their id that wait for a later time at the simulated network. */
export type SandboxWaiting = { txids: string[]; payoutIds: string[] }

/** How the simulated network lets time pass for some charges and payouts alone. */
export type SandboxTime = {
  waiting(): Promise<SandboxWaiting>
  advance(input: SandboxWaiting & { seconds: number }): Promise<DueCountsAtBank>
}

export type ClockDeps = { db: Db; clock: Clock; wakeDeliveries: () => void }

/** As many as the simulated network takes at once. */
const chunkMax = 1_000
const secondsMax = 90 * 86_400

const count = (description: string) => Type.Integer({ minimum: 0, description })

const AdvanceBody = Type.Object(
  {
    advanceSeconds: Type.Integer({
      minimum: 1,
      maximum: secondsMax,
      description: 'How much time passes; 90 days at most',
    }),
  },
  {
    additionalProperties: false,
    title: 'SandboxClock',
    description: 'How much time passes',
    examples: [{ advanceSeconds: 3600 }],
  },
)

const Advanced = Type.Object(
  {
    advancedSeconds: Type.Integer({ description: 'How much time has passed with this call' }),
    offsetSeconds: Type.Integer({ description: 'How much time has passed with all calls of this merchant' }),
    due: Type.Object(
      {
        charges: count('Codes that have expired'),
        payments: count('Delayed payments that the simulated bank has now shown'),
        refunds: count('Refunds and returns that the simulated bank has now settled'),
        withdrawals: count('Withdrawals that the simulated bank has now settled'),
        disputes: count('Disputes that were opened, paid back, or have reached their deadline'),
        checks: count('Open withdrawals and refunds whose next check is due'),
        webhooks: count('Deliveries whose next attempt is due'),
      },
      { title: 'SandboxDue', description: 'What has come due. Its effects follow within seconds' },
    ),
  },
  {
    title: 'SandboxAdvanced',
    description: 'What has come due because time has passed',
    examples: [
      {
        advancedSeconds: 3600,
        offsetSeconds: 7200,
        due: { charges: 2, payments: 0, refunds: 0, withdrawals: 0, disputes: 0, checks: 0, webhooks: 1 },
      },
    ],
  },
)

export function registerClockRoutes(app: Server, deps: ClockDeps & { sandbox: SandboxTime }): void {
  app.post(
    '/sandbox/clock',
    {
      config: { access: { scope: 'transaction.write' } },
      schema: {
        operationId: 'advanceSandboxClock',
        summary: 'Let time pass for your records',
        description:
          'Everything of your own that waits for a later time becomes due earlier by this much: codes expire, webhooks are tried again, delayed payments and refunds arrive, and deadlines of disputes come closer. The clock itself stays, and so does what has already happened. Other merchants notice nothing. It exists only while the acquirer is the simulator.',
        tags: ['Sandbox'],
        querystring: NoQuery,
        body: AdvanceBody,
        response: { 200: Advanced, ...problems(401, 403, 422, 500) },
      },
    },
    async (request) => {
      const { merchantId } = callerOf(request)
      return await advanceClock(deps, { merchantId, seconds: request.body.advanceSeconds })
    },
  )
}

/**
 * Lets time pass for one merchant. No clock moves: what waits is made due earlier, at the earliest now. Only the expiry
 * of a charge may move to `expiryGraceMs` before now, so that its next check fails it; this may be before its creation.
 *
 * The simulated network comes first: the checks that are then made due in Guichê find what it has done.
 */
export async function advanceClock(
  { db, clock, sandbox, wakeDeliveries }: ClockDeps & { sandbox: SandboxTime },
  { merchantId, seconds }: { merchantId: string; seconds: number },
) {
  const waiting = await sandbox.waiting()
  const own = await findOwn(db, {
    merchantId,
    transactions: waiting.txids.flatMap((txid) => fromTxid(txid) ?? []),
    withdrawals: waiting.payoutIds.flatMap((id) => fromTxid(id) ?? []),
  })
  const txids = [...new Set([...(await listOpenIds(db, { merchantId, now: clock.now() })), ...own.transactions])].map(
    toTxid,
  )
  const atBank = await advanceBank(sandbox, { txids, payoutIds: own.withdrawals.map(toTxid), seconds })
  const moved = await db.transaction(async (tx) => {
    const move = { merchantId, seconds, now: clock.now() }
    const charges = await moveCharges(tx, move, expiryGraceMs)
    const checks = (await moveChecks(tx, 'refunds', move)) + (await moveChecks(tx, 'withdrawals', move))
    const webhooks = await moveDeliveries(tx, move)
    const offsetSeconds = await addOffset(tx, move)
    const jobs = ['transactions.check', 'transactions.check-refunds', 'withdrawals.check']
    await enqueueJobs(
      tx,
      jobs.map((name) => ({ name, payload: {}, key: name })),
    )
    return { charges, checks, webhooks, offsetSeconds }
  })
  wakeDeliveries()
  const { offsetSeconds, ...due } = moved
  return {
    advancedSeconds: seconds,
    offsetSeconds,
    due: {
      ...due,
      payments: atBank.payments,
      refunds: atBank.returns,
      withdrawals: atBank.payouts,
      disputes: atBank.disputes,
    },
  }
}

async function advanceBank(
  sandbox: SandboxTime,
  { txids, payoutIds, seconds }: SandboxWaiting & { seconds: number },
): Promise<DueCountsAtBank> {
  const sum: DueCountsAtBank = { charges: 0, payments: 0, returns: 0, disputes: 0, payouts: 0 }
  const chunks = Math.ceil(Math.max(txids.length, payoutIds.length) / chunkMax)
  for (let chunk = 0; chunk < chunks; chunk += 1) {
    const part = <Item>(all: Item[]) => all.slice(chunk * chunkMax, (chunk + 1) * chunkMax)
    const due = await sandbox.advance({ txids: part(txids), payoutIds: part(payoutIds), seconds })
    for (const name of Object.keys(sum) as (keyof DueCountsAtBank)[]) sum[name] += due[name]
  }
  return sum
}

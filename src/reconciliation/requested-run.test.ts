import { expect, it } from 'vitest'
import { manualClock } from '../../test/support/clock.ts'
import { createTestDatabase } from '../../test/support/database.ts'
import { generateDay, generatedDay } from '../../test/support/generated-day.ts'
import { reconcilingWith } from '../../test/support/reconciling.ts'
import type { Send } from '../acquirers/bacen/http.ts'
import { sql } from '../db/sql.ts'
import { newUuid } from '../lib/secrets.ts'
import { reconcile } from './run.ts'

/** Resolves when `open` is called. */
function gate(): { open: () => void; opened: Promise<void> } {
  let open = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { open, opened }
}

it('a run that another process has begun again is completed by that process', async () => {
  const database = await createTestDatabase()
  try {
    const { db } = database
    const { bank } = await generateDay(db, { seed: 7, agreeing: 50, each: 1 })
    const clock = manualClock(new Date('2026-11-21T15:00:00.000Z'))
    const runId = newUuid()
    const begin = async (beforeFirst: () => Promise<void>) => {
      let isFirst = true
      const send: Send = async (request) => {
        if (isFirst) {
          isFirst = false
          await beforeFirst()
        }
        return await bank.send(request)
      }
      const deps = reconcilingWith({ db, clock, send })
      return await reconcile(deps, { acquirer: deps.acquirer, kind: 'manual', window: generatedDay, runId })
    }
    const [formerReads, secondReads, formerEnded] = [gate(), gate(), gate()]
    const former = begin(async () => {
      formerReads.open()
      await secondReads.opened
    })
    await formerReads.opened
    clock.advance(1_000)
    // As the job does that takes over the run.
    await db.query(sql`delete from reconciliation_pairs where run_id = ${runId}`)
    const second = begin(async () => {
      secondReads.open()
      await formerEnded.opened
    })
    await expect(former).rejects.toThrow(/lost the rows/)
    expect(await db.query(sql`select state from reconciliation_runs`)).toEqual([{ state: 'running' }])
    formerEnded.open()
    expect(await second).toMatchObject({ state: 'complete' })
    expect(await db.query(sql`select state from reconciliation_runs`)).toEqual([{ state: 'complete' }])
  } finally {
    await database.drop()
  }
})

import type pg from 'pg'

/** What waits at the network for a later time: charges by their txid, payouts by their id. */
export type Waiting = { txids: string[]; payoutIds: string[] }

// Any constant that nothing else in the database locks: the bytes of "simclock".
const movesLock = '8316298460704760683'

/** The most charges, and the most payouts, in one answer. */
const waitingMax = 10_000

/**
 * Payments that the PSP does not show yet, returns and payouts in process, and disputes that are open, open later, or
 * are accepted and not yet returned. Unpaid charges are not listed: their creator knows them.
 */
export async function listWaiting(pool: pg.Pool, now: Date): Promise<Waiting> {
  const { rows } = await pool.query<Waiting>({
    text: `
      select
        array(
          select txid from simulator.charges where id in (
            select charge_id from simulator.pix where shown_at > $1
            union
            select charge_id from simulator.returns join simulator.pix using (end_to_end_id) where settles_at > $1
            union
            select charge_id from simulator.disputes join simulator.pix using (end_to_end_id)
            where state = 'open' or return_settles_at > $1
          ) limit ${waitingMax}
        ) as txids,
        array(select id from simulator.payouts where settles_at > $1 limit ${waitingMax}) as "payoutIds"`,
    values: [now.toISOString()],
  })
  return rows[0] ?? { txids: [], payoutIds: [] }
}

export type Move = { chargeIds: string[]; payoutIds: string[]; seconds: number; now: Date }

type Named = { id: string; isDue: boolean }

/** What was moved. `isDue`: it waited for a later time, which has come. */
export type Moved = {
  charges: Named[]
  payments: (Named & { behaviours: string[] })[]
  /** By the end-to-end id of their payment. */
  returns: Named[]
  disputes: Named[]
  payouts: Named[]
}

/**
 * Moves what is still to come of these charges and payouts earlier by `seconds`, but to no time before now. The
 * creation time of an unpaid charge moves too. Nothing else that has already happened changes.
 */
export async function moveTime(client: pg.PoolClient, { chargeIds, payoutIds, seconds, now }: Move): Promise<Moved> {
  // Only one move runs at a time: two that lock the same rows in different orders would deadlock.
  await client.query(`select pg_advisory_xact_lock(${movesLock})`)
  const change = async <Row>(ids: string[], text: string): Promise<Row[]> => {
    const { rows } = await client.query({ text, values: [ids, now.toISOString(), seconds] })
    return rows as Row[]
  }
  const earlier = (column: string) => `greatest($2::timestamptz, ${column} - $3 * interval '1 second')`
  const expiry = `(created_at + expires_in * interval '1 second')`
  const deadline = `coalesce(deadline_at, opened_at + interval '7 days')`
  const ofCharges = `end_to_end_id in (select end_to_end_id from simulator.pix where charge_id = any ($1::uuid[]))`
  return {
    // The creation time moves, not the lifetime: a repeated request compares the lifetime.
    charges: await change<Named>(
      chargeIds,
      `update simulator.charges set created_at = created_at - (${expiry} - ${earlier(expiry)})
       where id = any ($1::uuid[]) and ${expiry} > $2
         and not exists (select from simulator.pix where charge_id = charges.id and names_charge)
       returning txid as id, ${expiry} <= $2 as "isDue"`,
    ),
    payments: await change<Named & { behaviours: string[] }>(
      chargeIds,
      `update simulator.pix set paid_at = ${earlier('paid_at')}, shown_at = ${earlier('shown_at')}
       where charge_id = any ($1::uuid[]) and shown_at > $2
       returning end_to_end_id as id, behaviours, shown_at <= $2 as "isDue"`,
    ),
    returns: await change<Named>(
      chargeIds,
      `update simulator.returns set
         settles_at = ${earlier('settles_at')},
         requested_at = least(requested_at, ${earlier('settles_at')})
       where ${ofCharges} and settles_at > $2
       returning end_to_end_id as id, settles_at <= $2 as "isDue"`,
    ),
    disputes: await change<Named>(
      chargeIds,
      `update simulator.disputes set
         opened_at = case when opened_at > $2 then ${earlier('opened_at')} else opened_at end,
         changed_at = case when opened_at > $2 then ${earlier('opened_at')} else changed_at end,
         deadline_at = case when state = 'open' and opened_at <= $2 then ${earlier(deadline)} else deadline_at end,
         return_settles_at = case when return_settles_at > $2 then ${earlier('return_settles_at')} else return_settles_at end
       where ${ofCharges} and (return_settles_at > $2 or (state = 'open' and ${deadline} > $2))
       returning id, (return_settles_at <= $2 or ${deadline} <= $2 or (opened_at = $2 and changed_at = $2)) as "isDue"`,
    ),
    payouts: await change<Named>(
      payoutIds,
      `update simulator.payouts set settles_at = ${earlier('settles_at')}
       where id = any ($1::text[]) and settles_at > $2
       returning id, settles_at <= $2 as "isDue"`,
    ),
  }
}

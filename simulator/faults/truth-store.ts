import type pg from 'pg'
import { type FaultProfileFields, honestProfile } from './profile.ts'

/** A payment as it really happened, to compare with what the simulated PSP shows. */
export type TruthRecord = {
  end_to_end_id: string
  charge_txid: string
  /** The Pix has the txid of the charge. */
  names_charge: boolean
  /** The charge was already paid. */
  is_second: boolean
  amount: string
  paid_at: Date
  /** The faults of the PSP that apply to it. */
  behaviours: string[]
  returned: string
}

/** Every payment that has arrived, whether the PSP shows it or not, with the amount returned. */
export async function listArrived(pool: pg.Pool, now: Date): Promise<TruthRecord[]> {
  const { rows } = await pool.query<TruthRecord>({
    text: `
      select pix.end_to_end_id, charge.txid as charge_txid, pix.names_charge, pix.is_second, pix.amount::text as amount, pix.paid_at,
        pix.behaviours, coalesce(returned.amount, 0)::text as returned
      from simulator.pix join simulator.charges charge on charge.id = pix.charge_id
      left join (
        select end_to_end_id, sum(amount) as amount from simulator.returns
        where rejection is null and settles_at <= $1 group by end_to_end_id
      ) returned using (end_to_end_id)
      where pix.paid_at <= $1
      order by pix.paid_at, pix.end_to_end_id`,
    values: [now.toISOString()],
  })
  return rows
}

/** Money that left for good: payouts less what their receivers sent back. */
export async function sumPaidOut(pool: pg.Pool, now: Date): Promise<number> {
  const { rows } = await pool.query<{ amount: string }>({
    text: `
      select (
        coalesce((select sum(amount) from simulator.payouts where rejection is null and settles_at <= $1), 0)
        - coalesce((select sum(amount) from simulator.payout_returns where returned_at <= $1), 0)
      )::text as amount`,
    values: [now.toISOString()],
  })
  return Number(rows[0]?.amount)
}

/** The setting that has the fault profile. */
const name = 'personality'

export async function saveFaultProfile(pool: pg.Pool, profile: FaultProfileFields): Promise<void> {
  await pool.query({
    text: `
      insert into simulator.settings (name, value) values ($1, $2) on conflict (name) do update set value = excluded.value`,
    values: [name, JSON.stringify(profile)],
  })
}

/** The stored fault profile: a PSP without faults, unless it was changed. */
export async function findFaultProfile(pool: pg.Pool): Promise<FaultProfileFields> {
  const { rows } = await pool.query<{ value: string }>({
    text: `select value from simulator.settings where name = $1`,
    values: [name],
  })
  return rows[0] ? JSON.parse(rows[0].value) : honestProfile
}

import type pg from 'pg'
import { openShared } from '../shared.ts'
import { createFaultProfile, type FaultProfile, type FaultProfileFields, honestProfile } from './profile.ts'
import { findFaultProfile, saveFaultProfile } from './truth-store.ts'

export type FaultProfileInput = Partial<FaultProfileFields>

/**
 * A network's fault profile. It is stored in the database, so that it survives restarts and all processes share it.
 */
export type FaultProfileStore = {
  current(): Promise<FaultProfile>
  /**
   * Changes the profile now; other processes see it within a second. A name replaces the whole profile. Without one,
   * only the fields of the input change.
   */
  change(input: FaultProfileInput): Promise<FaultProfile>
}

/** A fault profile as the API returns it: without its functions. */
export function toProfileView({ name, seed, traits }: FaultProfile): FaultProfileFields {
  return { name, seed, traits }
}

export function openFaultProfile(pool: pg.Pool): FaultProfileStore {
  const shared = openShared(async () => createFaultProfile(await findFaultProfile(pool)))
  return {
    current: shared.current,
    async change(input) {
      const kept = input.name === undefined ? await findFaultProfile(pool) : honestProfile
      const fields = { ...kept, ...input }
      const profile = createFaultProfile(fields)
      await saveFaultProfile(pool, fields)
      shared.set(profile)
      return profile
    },
  }
}

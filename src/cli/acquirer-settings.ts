import { type AcquirerSettings, type AcquirersSettings, readAcquirersFile } from '../acquirers/settings.ts'
import type { Config } from '../config.ts'
import { systemClock } from '../lib/clock.ts'

/** What ACQUIRERS_FILE says, proved as the start of the service does. */
export function readSettings({ acquirersFile, variable }: Config): AcquirersSettings {
  if (acquirersFile === null)
    throw new Error(
      'ACQUIRERS_FILE is not set: the acquirer is the simulated network. docs/acquirers.md tells how to name yours.',
    )
  return readAcquirersFile({ path: acquirersFile, variable, clock: systemClock })
}

export function findSettings(config: Config, name: string): AcquirerSettings {
  const { acquirers } = readSettings(config)
  const found = acquirers.find((one) => one.name === name)
  if (found) return found
  const names = acquirers.map((one) => one.name).join(', ')
  throw new Error(`There is no acquirer ${name}. ${config.acquirersFile} has ${names}.`)
}

import { type AcquirerSettings, type AcquirersSettings, readAcquirersFile } from '../acquirers/settings.ts'
import type { Config } from '../config.ts'
import { systemClock } from '../lib/clock.ts'
import { simulatorName } from '../network.ts'

/** The settings of ACQUIRERS_FILE, validated as at the service's startup. */
export function readSettings({ acquirersFile, variable }: Config): AcquirersSettings {
  if (acquirersFile === null)
    throw new Error(
      'ACQUIRERS_FILE is not set: the acquirer is the simulated network. docs/acquirers.md explains how to configure yours.',
    )
  return readAcquirersFile({ path: acquirersFile, variable, clock: systemClock })
}

/**
 * Whether the service with these settings can query an acquirer of this name. If the file cannot be read, every name
 * counts as known: the service reports the error when it starts.
 */
export function knowsAcquirer(config: Config): (name: string) => boolean {
  if (config.acquirersFile === null) return (name) => name === simulatorName
  try {
    const names = new Set(readSettings(config).acquirers.map((one) => one.name))
    return (name) => names.has(name)
  } catch {
    return () => true
  }
}

export function findSettings(config: Config, name: string): AcquirerSettings {
  const { acquirers } = readSettings(config)
  const found = acquirers.find((one) => one.name === name)
  if (found) return found
  const names = acquirers.map((one) => one.name).join(', ')
  throw new Error(`There is no acquirer ${name}. ${config.acquirersFile} defines ${names}.`)
}

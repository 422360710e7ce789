import type { Command } from 'commander'
import { toCallbackAccess } from '../acquirers/callbacks.ts'
import { dialects } from '../acquirers/dialects.ts'
import { connect } from '../acquirers/open.ts'
import { probeAcquirer } from '../acquirers/probe.ts'
import type { Finding } from '../acquirers/probe-finding.ts'
import type { AcquirerSettings } from '../acquirers/settings.ts'
import { type Config, readConfig, toBaseUrl } from '../config.ts'
import { systemClock } from '../lib/clock.ts'
import { simulatorName } from '../network.ts'
import { toCallbackUrl } from '../registration.ts'
import { findSettings, readSettings } from './acquirer-settings.ts'
import { callbackCommands } from './callback.ts'
import { type Context, withContext } from './context.ts'
import { print, write } from './print.ts'

type Json = { json?: boolean }

/** `guiche acquirer …`: the accounts at PSPs that ACQUIRERS_FILE defines. */
export function acquirerCommands(program: Command): void {
  const acquirer = program.command('acquirer')

  acquirer
    .command('list')
    .description('check the settings file as the service does when it starts, and list its acquirers')
    .option('--json', 'print JSON')
    .action(({ json }: Json) => {
      const config = readConfig(process.env)
      if (config.acquirersFile === null) return print([toSimulated(config)], { json, note: simulatedNote })
      const rows = readSettings(config).acquirers.map(toRow)
      print(rows, {
        json,
        note: '`npx guiche acquirer check <name>` checks what the PSP supports; it changes nothing at the PSP.',
      })
    })

  acquirer
    .command('check <name>')
    .description('check what a PSP supports, what it lacks and which settings to change; only reads')
    .option('--json', 'print JSON')
    .action(async (name: string, { json }: Json) => {
      const config = readConfig(process.env)
      const settings = findSettings(config, name)
      const findings = await check(config, settings)
      const isFit = findings.every(({ state }) => state !== 'missing')
      if (json) print({ ...toRow(settings), isFit, findings }, { json })
      else write(describe(settings, findings, isFit))
      if (!isFit) process.exitCode = 1
    })

  callbackCommands(acquirer)
}

const simulatedNote = 'No real money moves. ACQUIRERS_FILE defines accounts at PSPs: docs/acquirers.md.'

/** The acquirer that exists without a settings file. */
function toSimulated({ simulatorUrl }: Config) {
  return {
    name: simulatorName,
    dialect: 'generic',
    environment: 'simulated',
    address: simulatorUrl ?? 'built in',
    payouts: 'yes',
    disputes: 'yes',
  }
}

function toRow({ name, dialect, environment, hosts, profile }: AcquirerSettings) {
  return {
    name,
    dialect,
    environment,
    address: hosts.baseUrl,
    payouts: profile.offers.payouts ? 'yes' : 'no',
    disputes: profile.offers.disputes ? 'yes' : 'no',
  }
}

async function check(config: Config, settings: AcquirerSettings): Promise<Finding[]> {
  const callbackUrl = await findCallbackUrl(config, settings)
  const log = { info() {}, warn() {} }
  const { send, tls, close } = connect(settings, { clock: systemClock, log })
  try {
    const certificateExpiresAt = tls?.current().expiresAt ?? null
    return await probeAcquirer(settings, { send, clock: systemClock, certificateExpiresAt, callbackUrl })
  } finally {
    await close()
  }
}

/**
 * The address that the service registers, by its database. Without the database, the environment must have the secret
 * key. Returns why the address is not known.
 */
async function findCallbackUrl(config: Config, { name, callbacks }: AcquirerSettings): Promise<string | Error> {
  const toUrl = (own: Pick<Context, 'key' | 'cell' | 'baseUrl'>) =>
    toCallbackUrl(own, { acquirer: { name, callbacks: toCallbackAccess(callbacks) }, callbacks })
  try {
    return await withContext(async (context) => toUrl(context))
  } catch (error) {
    const { secretKey: key, cell } = config
    if (key !== null) return toUrl({ key, cell, baseUrl: toBaseUrl(config) })
    return error instanceof Error ? error : new Error(String(error))
  }
}

const marks: Record<Finding['state'], string> = { ok: '✓', missing: '✗', warning: '!', skipped: '–' }

function describe(settings: AcquirerSettings, findings: Finding[], isFit: boolean): string {
  const { title, unconfirmed } = dialects[settings.dialect]
  const width = Math.max(...findings.map(({ subject }) => subject.length))
  const lines = findings.map(({ subject, state, said, setting }) => {
    const change = setting === null ? '' : `\n  ${' '.repeat(width)}    change: ${setting}`
    return `  ${marks[state]} ${subject.padEnd(width)}  ${said}${change}`
  })
  const missing = findings.filter(({ state }) => state === 'missing').length
  const lacked = missing === 1 ? 'one thing' : `${missing} things`
  return `
  ${settings.name}: ${title}, ${settings.environment}, at ${settings.hosts.baseUrl}

${lines.join('\n')}

  ${isFit ? 'It supports all that Guichê needs.' : `It lacks ${lacked} that Guichê needs.`}
  Not confirmed in this PSP’s sandbox:
${unconfirmed.map((one) => `  - ${one}`).join('\n')}

`
}

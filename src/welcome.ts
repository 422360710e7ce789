import { existsSync } from 'node:fs'
import type { Config } from './config.ts'
import type { Service } from './service.ts'

type Shown = Pick<Service, 'baseUrl' | 'acquirers' | 'isSimulated' | 'newSandbox' | 'firstAdminUrl'>

/**
 * What a person needs after a start, printed last: addresses, whether the money is real, and secrets that are shown
 * only once. On a public service standard output is probably collected as a log, so the admin link and the secrets are
 * printed only at a terminal.
 */
export function welcome(
  { baseUrl, acquirers, isSimulated, newSandbox, firstAdminUrl }: Shown,
  { dataDir, isPublic, isTerminal }: Pick<Config, 'dataDir' | 'isPublic'> & { isTerminal: boolean },
): string {
  const showsSecrets = isTerminal || !isPublic
  const rows: [name: string, value: string][] = []
  const add = (name: string, value: string, note?: string) =>
    rows.push([name, value], ...(note ? [['', `(${note})`] as [string, string]] : []))
  add('Dashboard', `${baseUrl}/dashboard/`)
  if (firstAdminUrl && showsSecrets) add('First admin', firstAdminUrl, 'works once, within three days')
  if (firstAdminUrl && !showsSecrets)
    add('First admin', 'npx guiche user invite --email <address> --role admin', 'prints a link that works once')
  add('Guide', `${baseUrl}/guide/`)
  add('API reference', `${baseUrl}/guide/reference/`)
  add(acquirers.length > 1 ? 'Acquirers' : 'Acquirer', acquirers.join(', '))
  const file = `${dataDir}/sandbox.json`
  if (newSandbox && showsSecrets) {
    add('client_id', newSandbox.clientId)
    add('client_secret', newSandbox.clientSecret)
    add('webhook secret', newSandbox.webhookSecret, `shown once, kept in ${file}`)
    add('Try it', `${baseUrl}/guide/#the-sixty-second-loop`)
  } else if (newSandbox || (isSimulated && existsSync(file))) add('Sandbox client', `in ${file}`)
  if (isOldNode()) add('Node.js', `${process.version} works; 24 is recommended`)
  const money = isSimulated ? ' with a simulated Pix network: no real money moves' : ''
  const table = rows.map(([name, value]) => `    ${name.padEnd(16)}${value}\n`).join('')
  return `\n  Guichê runs at ${baseUrl}${money}.\n\n${table}\n`
}

/**
 * True for a Node.js version before 22, the oldest long-term version that is still maintained. Older ones still work.
 */
export function isOldNode(): boolean {
  return Number(process.versions.node.split('.')[0]) < 22
}

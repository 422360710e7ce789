import type { Command } from 'commander'
import { receiverKey } from '../../simulator/receiver-account.ts'
import { toCallbackAccess } from '../acquirers/callbacks.ts'
import type { AcquirerSettings } from '../acquirers/settings.ts'
import { type Config, readConfig } from '../config.ts'
import { simulatorName } from '../network.ts'
import { toCallbackUrl } from '../registration.ts'
import { findSettings } from './acquirer-settings.ts'
import { withContext } from './context.ts'
import { print } from './print.ts'

/** `guiche acquirer callback-url <name>`: for PSPs where the callback address is registered by hand. */
export function callbackCommands(acquirer: Command): void {
  acquirer
    .command('callback-url <name>')
    .description('print the address for callbacks of this acquirer, to register it by hand')
    .option('--json', 'print JSON')
    .action(async (name: string, { json }: { json?: boolean }) => {
      const { chave, callbacks } = findCallbackSettings(readConfig(process.env), name)
      const access = toCallbackAccess(callbacks)
      const url = await withContext(async (context) =>
        toCallbackUrl(context, { acquirer: { name, callbacks: access }, callbacks }),
      )
      const value = { url, chave, isRegisteredAtStart: callbacks.register !== false, ...access }
      const shown = { url, chave, registered: callbacks.register === false ? 'by hand' : 'by Guichê, at each start' }
      print(value, { json, shown: { ...shown, certificate: describe(access) }, note: toNote(url) })
    })
}

/** The simulated network gets a callback address like any PSP. */
function findCallbackSettings(config: Config, name: string): Pick<AcquirerSettings, 'chave' | 'callbacks'> {
  const isSimulated = config.acquirersFile === null && name === simulatorName
  return isSimulated ? { chave: receiverKey, callbacks: {} } : findSettings(config, name)
}

function describe({ clientCertificate }: ReturnType<typeof toCallbackAccess>): string {
  if (!clientCertificate) return 'not required'
  const { header, sha256, subject } = clientCertificate
  const which = [...subject, ...(sha256.length > 0 ? [`SHA-256 ${sha256.join(' or ')}`] : [])]
  return `${which.join(', ') || 'any certificate that the proxy verified'}, passed on as ${header}`
}

function toNote(url: string): string {
  const isPublic = url.startsWith('https://') && !/^https:\/\/(?:localhost|127\.|\[)/.test(url)
  return [
    'Register exactly this address for this key: most PSPs append /pix automatically. Keep it secret: anyone who knows it can send fake callbacks.',
    ...(isPublic ? [] : ['No PSP can use this address: set callbacks.baseUrl or BASE_URL to a public https address.']),
    'docs/going-live.md explains how to set up the proxy in front.',
  ].join('\n')
}

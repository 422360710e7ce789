import { join } from 'node:path'
import type { Command } from 'commander'
import { Guiche, GuicheError } from '../../../sdk/src/index.ts'
import { readJsonFile } from '../../lib/json-file.ts'
import type { SandboxFile } from '../../sandbox-client.ts'

/** A merchant's credentials, and where the service is. `webhookSecret` is null if it is not known. */
export type Connection = Omit<SandboxFile, 'webhookSecret'> & { webhookSecret: string | null }

export type ConnectOptions = { url?: string; clientId?: string; clientSecret?: string }

/** The options that name a service and a client, for every command that talks to the HTTP API. */
export function withConnection(command: Command): Command {
  return command
    .option(
      '--url <url>',
      'address of the service (or GUICHE_URL; default, if no client is given: that of DATA_DIR/sandbox.json)',
    )
    .option('--client-id <id>', 'client id (or GUICHE_CLIENT_ID)')
    .option('--client-secret <secret>', 'client secret; better GUICHE_CLIENT_SECRET, which other users cannot see')
}

/**
 * From the options, the environment, or the file of the sandbox client. The file's secret is sent only to the file's
 * own address.
 */
export async function findConnection(options: ConnectOptions): Promise<Connection> {
  const baseUrl = (options.url ?? readVariable('GUICHE_URL'))?.replace(/\/+$/, '')
  const clientId = options.clientId ?? readVariable('GUICHE_CLIENT_ID')
  const clientSecret = options.clientSecret ?? readVariable('GUICHE_CLIENT_SECRET')
  const webhookSecret = readVariable('GUICHE_WEBHOOK_SECRET') ?? null
  if (baseUrl && clientId && clientSecret) return { baseUrl, clientId, clientSecret, webhookSecret }
  const file = clientId || clientSecret ? null : await readSandboxFile()
  if (file && (!baseUrl || baseUrl === file.baseUrl))
    return { ...file, webhookSecret: webhookSecret ?? file.webhookSecret }
  const missing = Object.entries({
    GUICHE_URL: baseUrl,
    GUICHE_CLIENT_ID: clientId,
    GUICHE_CLIENT_SECRET: clientSecret,
  }).flatMap(([name, value]) => (value ? [] : [name]))
  throw new Error(
    `${missing.join(', ')} ${missing.length === 1 ? 'is' : 'are'} missing. Set GUICHE_URL, GUICHE_CLIENT_ID and GUICHE_CLIENT_SECRET, in the environment or in .env. Or, on the machine of a sandbox, run the command in the folder of the service, so that it finds ${sandboxPath()}.`,
  )
}

export async function connect(options: ConnectOptions): Promise<{ guiche: Guiche; connection: Connection }> {
  const connection = await findConnection(options)
  return { guiche: new Guiche(connection), connection }
}

/**
 * @throws if the service moves real money: a command that creates charges must not run there
 */
export async function requireSandbox(guiche: Guiche): Promise<void> {
  try {
    // Any operation of the sandbox would do: without a sandbox, none exists.
    await guiche.sandbox.personality()
  } catch (error) {
    if (!(error instanceof GuicheError) || error.code !== 'not_found') throw error
    throw new Error(
      'This service has no sandbox: its acquirer is a real PSP. The command creates and pays test charges, so it runs only where the acquirer is the simulator.',
    )
  }
}

export function sandboxPath(): string {
  return join(readVariable('DATA_DIR') ?? './data', 'sandbox.json')
}

/** A variable without content is not set, as in the settings of the service. */
function readVariable(name: string): string | undefined {
  return process.env[name]?.trim() || undefined
}

/** The credentials of the sandbox client, which the service writes at its first start. Null if there are none. */
export async function readSandboxFile(): Promise<SandboxFile | null> {
  return await readJsonFile<SandboxFile>(
    sandboxPath(),
    'Restore it from a backup, or delete it and set GUICHE_URL, GUICHE_CLIENT_ID and GUICHE_CLIENT_SECRET.',
  )
}

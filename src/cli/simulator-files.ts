import { randomBytes } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type DialectName, quirksOf } from '../../simulator/dialects.ts'
import type { Quirks } from '../../simulator/quirks.ts'
import {
  receiverAccount,
  receiverKey,
  simulatorAppKey,
  simulatorCredentials,
} from '../../simulator/receiver-account.ts'
import type { TlsFolder } from '../../simulator/tls-folder.ts'
import type { ProtocolProfileOverrides } from '../acquirers/bacen/profile.ts'
import { dialects } from '../acquirers/dialects.ts'

/** The address of a simulator, the token for its control API (`/sandbox/…`), and the files of its certificates. */
export type SimulatorConnection = { url: string; controlToken: string; tls: TlsFolder['paths'] | null }

/** The token of the previous run, so that whatever stores it still works; a new one if there was none. */
export async function findControlToken(folder: string): Promise<string> {
  return (await readConnection(folder))?.controlToken ?? randomBytes(24).toString('base64url')
}

/** Lets other commands find the simulator. */
export async function writeConnection(folder: string, connection: SimulatorConnection): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await writeFile(toPath(folder), `${JSON.stringify(connection, null, 2)}\n`, { mode: 0o600 })
}

/** Null if no simulator has run yet, or its file cannot be read. */
export async function readConnection(folder: string): Promise<SimulatorConnection | null> {
  try {
    return JSON.parse(await readFile(toPath(folder), 'utf8')) as SimulatorConnection
  } catch {
    return null
  }
}

/** Writes a settings file that makes this simulator an acquirer of Guichê. */
export async function writeAcquirersFile(
  folder: string,
  { connection, dialect, quirks }: { connection: SimulatorConnection; dialect: DialectName; quirks: Quirks },
): Promise<{ path: string; text: string }> {
  const text = JSON.stringify({ acquirers: [toAcquirer(connection, dialect, quirks)] }, null, 2)
  const path = join(folder, 'acquirers.json')
  await writeFile(path, `${text}\n`, { mode: 0o600 })
  return { path, text }
}

function toAcquirer({ url, tls }: SimulatorConnection, dialect: DialectName, quirks: Quirks): object {
  const settings = {
    ...(quirks.requiredQuery !== null && { appKey: simulatorAppKey }),
    // At registration this PSP tests that the address refuses calls without a certificate. Guichê accepts them here.
    ...(quirks.testsWebhook && { skipMtlsChecking: 'true' }),
  }
  return {
    name: `simulated-${dialect}`,
    dialect,
    environment: 'sandbox',
    baseUrl: url,
    tokenUrl: url + quirks.tokenPath,
    clientId: simulatorCredentials.clientId,
    ...([quirks, quirksOf(dialect)].some(({ tokenClient }) => tokenClient !== 'id_only') && {
      clientSecret: simulatorCredentials.clientSecret,
    }),
    chave: receiverKey,
    receiver: receiverAccount,
    ...(tls && { tls: { pfxFile: tls.pfxFile, passphrase: { file: tls.passphraseFile }, caFile: tls.caFile } }),
    callbacks: { register: true },
    ...(Object.keys(settings).length > 0 && { settings }),
    ...toOverrides(dialect, quirks),
  }
}

/** Settings that the client cannot derive from the name of the dialect. */
function toOverrides(dialect: DialectName, quirks: Quirks): { overrides?: ProtocolProfileOverrides } {
  const { chargesPath, pixPath, hasPayouts, payouts, hasDisputes, hasDefences, balance } = quirks
  const known = quirksOf(dialect)
  const differs = (...names: (keyof Quirks)[]) => names.some((name) => quirks[name] !== known[name])
  const { payout, payoutWebhook, sentPix } = dialects[payouts].profile.paths
  const paths = {
    ...(differs('chargesPath', 'pixPath') && {
      cob: `${chargesPath}/cob`,
      pix: `${pixPath}/pix`,
      webhook: `${pixPath}/webhook`,
    }),
    ...(differs('payouts') && { payout, payoutWebhook, sentPix }),
  }
  const overrides = {
    ...(differs('tokenClient', 'tokenBody') && {
      token: { credentials: credentials[quirks.tokenClient], format: quirks.tokenBody === 'json' ? 'json' : 'form' },
    }),
    ...(Object.keys(paths).length > 0 && { paths }),
    // Generic, Inter and Sicoob have these functions only if the settings name them.
    ...((['generic', 'inter', 'sicoob'].includes(dialect) ||
      differs('hasPayouts', 'hasDisputes', 'hasDefences', 'balance')) && {
      offers: { payouts: hasPayouts, disputes: hasDisputes, defences: hasDisputes && hasDefences, balance },
    }),
    ...(differs('payouts') && { payoutApi: payouts }),
    ...(differs('listDaysMax') && { list: { daysMax: quirks.listDaysMax } }),
  } satisfies ProtocolProfileOverrides
  return Object.keys(overrides).length > 0 ? { overrides } : {}
}

const credentials = { basic: 'basic', body: 'body', id_only: 'id-in-body' } as const

function toPath(folder: string): string {
  return join(folder, 'simulator.json')
}

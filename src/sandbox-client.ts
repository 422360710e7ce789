import { mkdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { byService } from './audit/record.ts'
import { revokeClient } from './auth/clients.ts'
import { scopes } from './auth/scopes.ts'
import { claimSetting, findSetting, saveSetting } from './auth/store.ts'
import type { Db } from './db/sql.ts'
import type { Clock } from './lib/clock.ts'
import { readJsonFile } from './lib/json-file.ts'
import { newUuid, type SecretKey } from './lib/secrets.ts'
import { createMerchant } from './merchant.ts'
import { defaultLimits } from './withdrawals/limits.ts'
import { upsertLimits } from './withdrawals/limits-store.ts'

export type SandboxFile = { baseUrl: string; clientId: string; clientSecret: string; webhookSecret: string }

type Deps = { db: Db; clock: Clock; key: SecretKey; dataDir: string; baseUrl: string }

/**
 * At the first start on a database, creates a client for experiments and stores its credentials in
 * DATA_DIR/sandbox.json.
 */
export async function makeSandboxClient(deps: Deps): Promise<void> {
  const path = join(deps.dataDir, 'sandbox.json')
  const isMade = await deps.db.transaction(async (tx) => {
    if (!(await claimSetting(tx, 'sandbox_client'))) return false
    const { merchantId, clientId, clientSecret, webhookSecret } = await createMerchant(tx, deps, {
      name: 'Sandbox',
      scopes: [...scopes],
    })
    await saveSetting(tx, 'sandbox_client', clientId)
    // Its money is simulated, and the amounts that trigger each outcome add up to more than a day's limit.
    await upsertLimits(tx, merchantId, { ...defaultLimits, perDay: null, perNight: null })
    const file = { baseUrl: deps.baseUrl, clientId, clientSecret, webhookSecret }
    // Inside the transaction: if the file cannot be written, no client is created.
    await write(path, file)
    return true
  })
  if (!isMade) await refreshBaseUrl(path, deps.baseUrl)
}

/** Revokes the sandbox client's secrets and tokens: it has all rights, and was made for simulated money. */
export async function revokeSandboxClient(deps: Pick<Deps, 'db' | 'clock' | 'key'>): Promise<void> {
  const clientId = await findSetting(deps.db, 'sandbox_client')
  if (clientId !== null) await revokeClient(deps, { clientId, tokensOnly: false, by: byService })
}

/** Returns the sandbox client's credentials once, at the first start that serves requests. Null later. */
export async function takeSandboxToShow({ db, dataDir }: Pick<Deps, 'db' | 'dataDir'>): Promise<SandboxFile | null> {
  const file = await read(join(dataDir, 'sandbox.json'))
  if (file === null) return null
  const isFirst = await db.transaction(async (tx) => await claimSetting(tx, 'sandbox_shown'))
  return isFirst ? file : null
}

/** The address may have changed since the client was created. */
async function refreshBaseUrl(path: string, baseUrl: string): Promise<void> {
  const file = await read(path)
  if (file !== null && file.baseUrl !== baseUrl) await write(path, { ...file, baseUrl })
}

async function read(path: string): Promise<SandboxFile | null> {
  return await readJsonFile<SandboxFile>(path, 'Restore it from a backup, or delete it: the service starts without it.')
}

async function write(path: string, file: SandboxFile): Promise<void> {
  // Another process may write its file at the same moment.
  const next = `${path}.${newUuid()}`
  await mkdir(join(path, '..'), { recursive: true })
  await writeFile(next, `${JSON.stringify(file, null, 2)}\n`, { mode: 0o600 })
  await rename(next, path)
}

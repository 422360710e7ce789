import { chownSync, readFileSync, statSync } from 'node:fs'
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { makeDatabaseFolder } from '../../test/support/database-folder.ts'
import { copyMigrated } from '../../test/support/migrated-folder.ts'
import { type EmbeddedPostgres, startEmbeddedPostgres } from './embedded.ts'

let folder: string
let dataDir: string
let started: EmbeddedPostgres | null = null

beforeEach(async () => {
  folder = await makeDatabaseFolder('guiche-owner-')
  dataDir = `${folder}/data`
})
afterEach(async () => {
  await started?.stop()
  started = null
  await rm(folder, { recursive: true, force: true })
})

async function start(): Promise<void> {
  started = await startEmbeddedPostgres({ dataDir, log: pino({ level: 'silent' }) })
}

describe.runIf(process.getuid?.() === 0)('as root, the embedded PostgreSQL', () => {
  it('keeps the owner of an ordinary user’s folder', async () => {
    await mkdir(`${dataDir}/postgres`, { recursive: true })
    chownSync(`${dataDir}/postgres`, 1, 1)
    await start()
    expect(statSync(`${dataDir}/postgres`).uid).toBe(1)
  })

  it('follows no link in DATA_DIR to a file of root: it keeps its owner and its content', async () => {
    await mkdir(dataDir, { recursive: true })
    await copyMigrated(dataDir)
    for (const name of ['lock', 'log']) await rm(`${dataDir}/postgres.${name}`, { force: true })
    const file = `${folder}/of-root`
    await writeFile(file, 'content')
    await symlink(file, `${dataDir}/postgres.lock`)
    await expect(start()).rejects.toThrow('ELOOP')
    expect(readFileSync(file, 'utf8')).toBe('content')
    await rm(`${dataDir}/postgres.lock`)
    await symlink(file, `${dataDir}/postgres.log`)
    await start()
    expect(statSync(file).uid).toBe(0)
  })

  it('makes a database for the ordinary user whose DATA_DIR it is: a restore by root, for example', async () => {
    await mkdir(dataDir, { recursive: true, mode: 0o700 })
    chownSync(dataDir, 1, 1)
    await start()
    for (const name of ['postgres', 'run', 'postgres.lock', 'postgres.log'])
      expect(statSync(`${dataDir}/${name}`).uid, name).toBe(1)
  })
})

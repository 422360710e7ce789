import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest'
import { attachEmbeddedPostgres, startEmbeddedPostgres } from '../../src/db/embedded.ts'
import { copyMigrated } from '../support/migrated-folder.ts'
import { findFreePort, makeDataDir, startAndStop, startServiceProcess } from '../support/process.ts'
import { eventually } from '../support/webhooks.ts'

let folder: Awaited<ReturnType<typeof makeDataDir>>

beforeEach(async () => {
  folder = await makeDataDir()
})
afterEach(async () => await folder.remove())

describe('a start that fails', () => {
  it('says what to do when the database is unreachable', async () => {
    const port = await findFreePort()
    const databaseUrl = `postgresql://nobody@127.0.0.1:${await findFreePort()}/nothing`
    const started = startServiceProcess({ dataDir: folder.dataDir, port, databaseUrl })
    await expect(started).rejects.toThrow(
      /It ended with 1: .*Guichê could not start\..*ECONNREFUSED.*check DATABASE_URL/s,
    )
  })

  it('says what to do when the database is a standby', async () => {
    await copyMigrated(folder.dataDir)
    writeFileSync(`${folder.dataDir}/postgres/standby.signal`, '')
    const started = startServiceProcess({ dataDir: folder.dataDir, port: await findFreePort() })
    await expect(started).rejects.toThrow(
      /It ended with 1: .*Guichê could not start\..*the database is a read-only standby\. Set DATABASE_URL to the primary server\.\s*$/s,
    )
  })

  it('says what to do when its address is in use', async () => {
    await copyMigrated(folder.dataDir)
    const other = createServer()
    const port = await findFreePort()
    await new Promise<void>((resolve) => other.listen(port, '127.0.0.1', resolve))
    try {
      // The stop delay must not apply: a service that never listened has no requests to wait for.
      const environment = { STOP_DELAY_SECONDS: '300' }
      const started = startServiceProcess({ dataDir: folder.dataDir, port, environment })
      await expect(started).rejects.toThrow(/It ended with 1: .*EADDRINUSE.*set PORT to another port/s)
    } finally {
      await new Promise((resolve) => other.close(resolve))
    }
  })

  it('says what to do when the file of the sandbox client is damaged', async () => {
    await copyMigrated(folder.dataDir)
    const start = async () => await startServiceProcess({ dataDir: folder.dataDir, port: await findFreePort() })
    const service = await start()
    service.signal('SIGTERM')
    await service.ended
    writeFileSync(`${folder.dataDir}/sandbox.json`, '{')
    await expect(start()).rejects.toThrow(
      /It ended with 1: .*sandbox\.json is damaged: it is not JSON\. Restore it from a backup, or delete it: /s,
    )
  })

  it('with several processes, reports a port in use only once, and stops the PostgreSQL that it started', async () => {
    await copyMigrated(folder.dataDir)
    const other = createServer()
    const port = await findFreePort()
    await new Promise<void>((resolve) => other.listen(port, '127.0.0.1', resolve))
    try {
      const environment = { PROCESSES: '2' }
      const started = startServiceProcess({ dataDir: folder.dataDir, port, environment })
      const reason = await started.then(String, String)
      expect(reason).toMatch(/It ended with 1: .*EADDRINUSE.*set PORT to another port/s)
      expect(reason.match(/EADDRINUSE/g)).toHaveLength(1)
    } finally {
      await new Promise((resolve) => other.close(resolve))
    }
    expect(await attachEmbeddedPostgres(folder)).toBeNull()
    await (await startEmbeddedPostgres({ ...folder, log: pino({ level: 'silent' }) })).stop()
  })

  it('names every error of its configuration', async () => {
    const environment = { LOG_LEVEL: 'loud', RATE_LIMIT_CREATE: 'many' }
    const started = startServiceProcess({ dataDir: folder.dataDir, port: 0, environment })
    await expect(started).rejects.toThrow(/It ended with 1: .*RATE_LIMIT_CREATE must be a number.*LOG_LEVEL must be/s)
  })
})

describe('a start that is interrupted by SIGTERM', () => {
  it.each(['1', '2'])('completes, then stops with exit code 0 (PROCESSES=%s)', async (PROCESSES) => {
    await copyMigrated(folder.dataDir)
    const { code, said } = await startAndStop({ ...folder, port: await findFreePort(), environment: { PROCESSES } })
    expect(code, said).toBe(0)
    expect(await attachEmbeddedPostgres(folder)).toBeNull()
  })
})

it('a start goes on if the reader of its output has gone', async () => {
  await copyMigrated(folder.dataDir)
  const port = await findFreePort()
  const child = spawn(process.execPath, [join(inject('build'), 'src/main.js')], {
    cwd: folder.dataDir,
    env: { PATH: process.env.PATH, DATA_DIR: folder.dataDir, PORT: String(port) },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  child.stdout.destroy()
  const ended = once(child, 'exit')
  await eventually(async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/health/ready`).catch(() => null)
    return answer?.ok === true || child.exitCode !== null
  })
  child.kill('SIGTERM')
  expect(await ended).toEqual([0, null])
})

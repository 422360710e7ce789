import { readFileSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { makeDatabaseFolder } from '../../test/support/database-folder.ts'
import { attachEmbeddedPostgres, type EmbeddedPostgres, startEmbeddedPostgres } from './embedded.ts'

const log = pino({ level: 'silent' })
let dataDir: string
const started: EmbeddedPostgres[] = []

// One folder for all tests: creating a database takes a second.
beforeAll(async () => {
  dataDir = `${await makeDatabaseFolder('guiche-restart-')}/data`
})
afterEach(async () => {
  for (const postgres of started.splice(0)) await postgres.stop()
})
afterAll(async () => await rm(join(dataDir, '..'), { recursive: true, force: true }))

describe('a server that is killed', () => {
  it('is restarted with all committed data every time, but not after a stop', async () => {
    const lost: Error[] = []
    const postgres = await startEmbeddedPostgres({ dataDir, log, onLost: (reason) => lost.push(reason) })
    started.push(postgres)
    await query(postgres, 'create table notes (id int)')
    for (const id of [1, 2]) {
      await query(postgres, `insert into notes values (${id})`)
      const pid = postmasterPid()
      process.kill(pid, 'SIGKILL')
      const readNotes = async () => await query(postgres, 'select id from notes order by id')
      await vi.waitFor(async () => expect(await readNotes()).toHaveLength(id), { timeout: 90_000, interval: 100 })
      expect(postmasterPid()).not.toBe(pid)
    }
    await postgres.stop()
    expect(await attachEmbeddedPostgres({ dataDir })).toBeNull()
    expect(lost).toEqual([])
  })

  it('is given up after the last try, with an error', async () => {
    await (await startEmbeddedPostgres({ dataDir, log })).stop()
    const version = readFileSync(`${dataDir}/postgres/PG_VERSION`, 'utf8')
    const lost = new Promise<Error>((resolve) => {
      void startEmbeddedPostgres({ dataDir, log, onLost: resolve, restartPausesMs: [0, 10, 20] }).then(
        async (postgres) => {
          started.push(postgres)
          await writeFile(`${dataDir}/postgres/PG_VERSION`, '17\n')
          process.kill(postmasterPid(), 'SIGKILL')
        },
      )
    })
    expect((await lost).message).toBe('PostgreSQL ended unexpectedly and did not run again after 3 starts')
    await writeFile(`${dataDir}/postgres/PG_VERSION`, version)
  })
})

describe('a command that holds the folder', () => {
  it('delays the start of a service until it ends', async () => {
    const command = await startEmbeddedPostgres({ dataDir, log, holder: 'command' })
    const warnings: string[] = []
    const recording = { ...log, info() {}, error() {}, warn: (_: unknown, line: string) => warnings.push(line) }
    const service = startEmbeddedPostgres({ dataDir, log: recording as unknown as typeof log })
    await vi.waitFor(() => expect(warnings.join()).toMatch(/a command is using DATA_DIR: waiting/), 90_000)
    await command.stop()
    started.push(await service)
  })
})

async function query(to: { connectionString: string }, statement: string) {
  const client = new pg.Client(to.connectionString)
  // A lost connection also emits this, which would end the process. Its statement fails too, and the test retries it.
  client.on('error', () => {})
  await client.connect()
  const { rows } = await client.query(statement)
  await client.end()
  return rows ?? []
}

function postmasterPid(): number {
  return Number(readFileSync(`${dataDir}/postgres/postmaster.pid`, 'utf8').split('\n')[0])
}

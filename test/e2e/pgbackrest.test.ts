import { execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { appendFile, chown, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { afterAll, expect, it } from 'vitest'
import { connect, raw, sql } from '../../src/db/sql.ts'
import { fetchAll, fetchSandboxToken, openShops } from '../crash/shops.ts'
import { findPostgresBin, findUser } from '../ha/programs.ts'
import { openCommandLine } from '../support/command-line.ts'
import { makeDatabaseFolder } from '../support/database-folder.ts'
import { findFreePort, makeDataDir, type ServiceProcess, startServiceProcess } from '../support/process.ts'
import { eventually, startTestReceiver } from '../support/webhooks.ts'

const bin = findPostgresBin() ?? ''
const reason =
  spawnSync('pgbackrest', ['version']).status !== 0
    ? 'pgBackRest is not installed'
    : bin === ''
      ? 'PostgreSQL with its tools is not installed'
      : null

const cleanups: (() => Promise<unknown>)[] = []
afterAll(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup()
})

/** The settings and commands of docs/backups.md, unchanged except for folders and the moment. */
async function readRecipe(folder: string, dataDir: string) {
  const text = (await readFile('docs/backups.md', 'utf8'))
    .replaceAll('/var/lib/postgresql/15/main', dataDir)
    .replaceAll('/var/lib/pgbackrest', join(folder, 'repository'))
  const blocks = [...text.matchAll(/```\n([^`]*)```/g)].map(([, block = '']) => block)
  const blockWith = (part: string) => blocks.find((block) => block.includes(part)) ?? ''
  const commands = blocks.flatMap((block) => block.split('\n').filter((line) => line.startsWith('pgbackrest ')))
  const commandWith = (part: string) => commands.find((command) => command.endsWith(part)) ?? ''
  return {
    configuration: blockWith('[global]'),
    settings: blockWith('archive-push'),
    once: ['stanza-create', 'check', 'backup'].map(commandWith),
    restore: (moment: Date) =>
      commandWith('restore').replace(
        /--target="[^"]*"/,
        `--target="${moment.toISOString().replace('T', ' ').replace('Z', '+00')}"`,
      ),
  }
}

it.skipIf(reason !== null)(
  `the recipe for pgBackRest restores everything up to a moment, and nothing after it${reason === null ? '' : ` (skipped: ${reason})`}`,
  async () => {
    const user = findUser()
    const folder = await makeDatabaseFolder('guiche-pgbackrest-')
    cleanups.push(async () => await rm(folder, { recursive: true, force: true }))
    const dataDir = join(folder, 'main')
    const port = await findFreePort()
    const env = {
      PATH: `${bin}:${process.env.PATH}`,
      PGBACKREST_CONFIG: join(folder, 'pgbackrest.conf'),
      PGBACKREST_LOCK_PATH: folder,
      PGBACKREST_LOG_LEVEL_FILE: 'off',
      PGBACKREST_PG1_SOCKET_PATH: folder,
      PGBACKREST_PG1_PORT: String(port),
      PGBACKREST_PG1_USER: 'postgres',
    }
    const run = async (command: string) =>
      await promisify(execFile)('sh', ['-c', command], { env, cwd: folder, ...user })
    const recipe = await readRecipe(folder, dataDir)
    await writeFile(env.PGBACKREST_CONFIG, recipe.configuration)
    for (const path of [folder, join(folder, 'repository')]) {
      await mkdir(path, { recursive: true })
      if (user.uid !== undefined) await chown(path, user.uid, user.gid)
    }
    await run(`initdb --pgdata ${dataDir} --username postgres --auth trust --encoding UTF8 --locale C --no-sync`)
    await appendFile(join(dataDir, 'postgresql.conf'), recipe.settings)

    const startPostgres = async () => {
      const args = ['-D', dataDir, '-p', String(port), '-k', folder, '-c', 'listen_addresses=127.0.0.1']
      const child = spawn(join(bin, 'postgres'), args, { env, stdio: 'ignore', ...user })
      const ended = once(child, 'exit')
      const stop = async () => {
        child.kill('SIGINT')
        await ended
      }
      cleanups.push(stop)
      return { stop }
    }
    const urlOf = (name: string) => `postgres://postgres@127.0.0.1:${port}/${name}`
    const admin = connect({ connectionString: urlOf('postgres'), connectionsMax: 1, waitMs: 500, onError: () => {} })
    cleanups.push(async () => await admin.pool.end())
    const isReady = async () =>
      await admin.query<{ isReady: boolean }>(sql`select not pg_is_in_recovery() as "isReady"`).then(
        ([row]) => row?.isReady === true,
        () => false,
      )
    const first = await startPostgres()
    await eventually(isReady)
    await admin.query(raw('create database guiche'))

    const receiver = await startTestReceiver()
    cleanups.push(receiver.stop)
    const { dataDir: serviceData, remove } = await makeDataDir()
    cleanups.push(remove)
    const open = async (): Promise<ServiceProcess> => {
      const service = await startServiceProcess({
        dataDir: serviceData,
        port: await findFreePort(),
        databaseUrl: urlOf('guiche'),
      })
      cleanups.push(async () => await close(service))
      return service
    }
    const close = async (service: ServiceProcess) => {
      service.signal('SIGTERM')
      await service.ended
    }
    const service = await open()
    const token = await fetchSandboxToken(serviceData, service.baseUrl)
    const sell = async (name: string, count: number) => {
      const shops = openShops({
        addresses: [() => service.baseUrl],
        token,
        webhookUrl: receiver.url,
        name,
        pauseMs: 60,
      })
      await eventually(() => shops.paid.length >= count)
      await shops.stop()
      expect(shops.surprises).toEqual([])
      return shops
    }
    const before = await sell('before', 3)
    for (const command of recipe.once) await run(command)
    // pgBackRest counts in whole seconds, and looks for a backup that ended before the moment.
    await sleep(2_000)
    const after = await sell('after', 3)
    const [{ moment } = { moment: new Date(0) }] = await admin.query<{ moment: Date }>(
      sql`select clock_timestamp() as moment`,
    )
    const late = await sell('late', 3)
    await close(service)
    // Everything is archived once this segment is. Without the switch, `archive_timeout` would end the segment later.
    const [{ name } = { name: '' }] = await admin.query<{ name: string }>(
      sql`select pg_walfile_name(pg_switch_wal()) as name`,
    )
    await eventually(async () => {
      const [archived] = await admin.query<{ name: string | null }>(
        sql`select last_archived_wal as name from pg_stat_archiver`,
      )
      return (archived?.name ?? '') >= name
    })
    await first.stop()

    await run(recipe.restore(moment))
    await startPostgres()
    await eventually(isReady)
    const commands = await openCommandLine({
      connectionString: urlOf('guiche'),
      environment: { DATA_DIR: serviceData },
    })
    cleanups.push(commands.stop)
    await commands.runJson(['ledger', 'stop', '--restored', '--reason', 'restored'])
    expect(await commands.runJson(['ledger', 'verify'])).toMatchObject({
      agree: true,
      payoutFreeze: { reason: expect.stringContaining('restored') },
    })
    const restored = await open()
    const ids = (await fetchAll(restored.baseUrl, token)).map(({ id }) => id)
    expect(ids).toEqual(expect.arrayContaining([...before.acknowledged, ...after.acknowledged].map(({ id }) => id)))
    expect(late.acknowledged.filter(({ id }) => ids.includes(id))).toEqual([])
  },
)

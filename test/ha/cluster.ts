import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { chmod, chown, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseEnv } from 'node:util'
import { connect, raw, sql } from '../../src/db/sql.ts'
import { makeDatabaseFolder } from '../support/database-folder.ts'
import { descendantsOf, postgresProcesses, signalAll } from '../support/postmaster.ts'
import { findUser, type Programs } from './programs.ts'

export type Cluster = {
  nodes: Node[]
  /** Leads to HAProxy, which routes it to the primary. */
  databaseUrl: string
  /** Names all servers. */
  directUrl: string
  /** The server that Patroni names as the leader. */
  primary(): Promise<Node>
  /** The others: first the one that confirms the commits. */
  standbys(): Promise<Node[]>
  /** Resolves when there is a primary, both others follow it, and one of them confirms its commits. */
  untilHealthy(): Promise<void>
  switchOver(): Promise<void>
  /** For the test of asynchronous replication: commits no longer wait for a standby. */
  makeAsynchronous(): Promise<void>
  stop(): Promise<void>
}

export type Node = {
  name: string
  address: string
  dataDir: string
  /** Starts Patroni, which starts PostgreSQL. */
  start(): void
  /** Of Patroni, PostgreSQL's main process and all its children, as far as they run. */
  pids(): number[]
  ended(): Promise<void>
}

type Member = { name: string; role: string; state: string; timeline?: number }

const names = ['one', 'two', 'three']
const password = 'a-password-of-the-test'
const healthyMaxMs = 180_000

/**
 * Three PostgreSQL servers under Patroni, three etcd and HAProxy: the files of deploy/ha/, with loopback addresses in
 * place of theirs.
 */
export async function startCluster({ patroni, etcd, haproxy, postgresBin }: Programs): Promise<Cluster> {
  const folder = await makeDatabaseFolder('guiche-ha-')
  await chmod(folder, 0o755)
  const user = findUser()
  const [second, third] = [1, 2].map(() => 1 + Math.floor(Math.random() * 250))
  const network = `127.${second}.${third}.`
  const addressOf = (index: number) => `${network}${11 + index}`
  const others: ChildProcess[] = []

  const read = async (name: string) =>
    (await readFile(`deploy/ha/${name}`, 'utf8'))
      .replaceAll('127.0.0.1:5000', `${network}1:5000`)
      .replaceAll('10.0.0.', network)
  /** The environment of one machine. The files have that of the first machine. */
  const readEnvironment = async (name: string, index: number): Promise<Record<string, string>> => {
    const variables = parseEnv(await read(name)) as Record<string, string>
    return Object.fromEntries(
      Object.entries(variables).map(([key, value]) => {
        if (/_NAME$/.test(key) && value === 'one') return [key, names[index] ?? '']
        if (/PASSWORD$/.test(key)) return [key, password]
        return [key, key === 'ETCD_INITIAL_CLUSTER' ? value : value.replaceAll(addressOf(0), addressOf(index))]
      }),
    )
  }
  const makeFolder = async (name: string) => {
    const path = join(folder, name)
    await mkdir(path, { mode: 0o700 })
    if (user.uid !== undefined) await chown(path, user.uid, user.gid)
    return path
  }
  const run = (name: string, [command = '', ...args]: string[], env: Record<string, string> = {}): ChildProcess => {
    const output = openSync(join(folder, `${name}.log`), 'a')
    const child = spawn(command, args, {
      ...user,
      cwd: folder,
      env: { PATH: process.env.PATH, LC_ALL: 'C.UTF-8', ...env },
      stdio: ['ignore', output, output],
    })
    closeSync(output)
    return child
  }

  const nodes: Node[] = []
  let isAsynchronous = false
  const settings = await read('patroni.yml')
  for (const [index, name] of names.entries()) {
    const etcdFolder = await makeFolder(`etcd-${name}`)
    others.push(
      run(`etcd-${name}`, [etcd], { ...(await readEnvironment('etcd.env', index)), ETCD_DATA_DIR: etcdFolder }),
    )
    const place = await makeFolder(name)
    const dataDir = join(place, 'data')
    const configuration = join(folder, `patroni-${name}.yml`)
    // Three servers on one machine need three folders for their sockets.
    const sockets = `  parameters:\n    unix_socket_directories: ${place}`
    await writeFile(configuration, settings.replace(/^postgresql:$/m, `$&\n${sockets}`))
    const environment = {
      ...(await readEnvironment('patroni.env', index)),
      PATRONI_POSTGRESQL_BIN_DIR: postgresBin,
      PATRONI_POSTGRESQL_DATA_DIR: dataDir,
    }
    let child: ChildProcess | null = null
    nodes.push({
      name,
      address: addressOf(index),
      dataDir,
      start() {
        child = run(name, [...patroni, configuration], environment)
      },
      pids() {
        const own = child?.pid && isRunning(child) ? [child.pid, ...descendantsOf(child.pid)] : []
        return [...own, ...postgresProcesses(dataDir)]
      },
      async ended() {
        if (child && isRunning(child)) await once(child, 'exit')
      },
    })
  }
  await writeFile(join(folder, 'haproxy.cfg'), await read('haproxy.cfg'))

  const members = async (): Promise<Member[]> => {
    for (const { address } of nodes) {
      const answer = await call(address, 'GET', '/cluster').catch(() => null)
      if (answer?.ok) return ((await answer.json()) as { members: Member[] }).members
    }
    return []
  }
  const isHealthy = async () => {
    const all = await members()
    const leader = all.find(({ role, state }) => role === 'leader' && state === 'running')
    const following = all.filter(({ state, timeline }) => state === 'streaming' && timeline === leader?.timeline)
    const isConfirmed = isAsynchronous || following.some(({ role }) => role === 'sync_standby')
    return leader !== undefined && following.length === names.length - 1 && isConfirmed
  }
  const cluster: Cluster = {
    nodes,
    databaseUrl: `postgres://guiche:${password}@${network}1:5000/guiche`,
    directUrl: `postgres://guiche:${password}@${nodes.map(({ address }) => `${address}:5432`).join(',')}/guiche`,
    async primary() {
      const leader = (await members()).find(({ role }) => role === 'leader')
      const node = nodes.find(({ name }) => name === leader?.name)
      if (!node) throw new Error('Patroni names no primary')
      return node
    },
    async standbys() {
      const all = await members()
      const roleOf = ({ name }: Node) => all.find((member) => member.name === name)?.role ?? ''
      // `sync_standby` before `replica`.
      return nodes
        .filter((node) => roleOf(node) !== 'leader')
        .sort((one, other) => roleOf(other).localeCompare(roleOf(one)))
    },
    async untilHealthy() {
      const giveUpAt = Date.now() + healthyMaxMs
      while (!(await isHealthy())) {
        if (Date.now() > giveUpAt)
          throw new Error(
            `The cluster is not healthy: ${JSON.stringify(await members())}. GUICHE_HA_KEEP=1 keeps its logs in ${folder}`,
          )
        await sleep(250)
      }
      // HAProxy has to see it as well.
      await sleep(2_000)
    },
    async switchOver() {
      const { name, address } = await cluster.primary()
      const answer = await call(address, 'POST', '/switchover', { leader: name })
      if (!answer.ok) throw new Error(`The switchover failed: ${await answer.text()}`)
    },
    async makeAsynchronous() {
      isAsynchronous = true
      const { address } = await cluster.primary()
      const answer = await call(address, 'PATCH', '/config', { synchronous_mode: false })
      if (!answer.ok) throw new Error(`The settings were refused: ${await answer.text()}`)
      while ((await members()).some(({ role }) => role === 'sync_standby')) await sleep(250)
    },
    async stop() {
      for (const node of nodes) signalAll(node.pids(), 'SIGCONT')
      for (const node of nodes) signalAll(node.pids(), 'SIGKILL')
      for (const child of others) child.kill('SIGKILL')
      await Promise.all([
        ...nodes.map(({ ended }) => ended()),
        ...others.map(async (child) => (isRunning(child) ? await once(child, 'exit') : null)),
      ])
      if (process.env.GUICHE_HA_KEEP === undefined) await rm(folder, { recursive: true, force: true })
    },
  }

  try {
    for (const node of nodes) {
      node.start()
      // The first one to start becomes the primary, and the others copy it.
      await sleep(1_000)
    }
    await cluster.untilHealthy()
    const { address } = await cluster.primary()
    const admin = connect({
      connectionString: `postgres://postgres:${password}@${address}:5432/postgres`,
      connectionsMax: 1,
      onError: () => {},
    })
    await admin.query(raw(`create role guiche login password '${password}'`))
    await admin.query(raw('create database guiche owner guiche'))
    await admin.pool.end()
    others.push(run('haproxy', [haproxy, '-db', '-f', join(folder, 'haproxy.cfg')]))
    await untilRoutedToPrimary(cluster.databaseUrl)
    return cluster
  } catch (error) {
    await cluster.stop()
    throw error
  }
}

function isRunning({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode === null && signalCode === null
}

/**
 * Waits until HAProxy routes every connection to the primary: it assumes that each server is up, the standbys too,
 * until its first health check has failed. It uses the servers in turn, so six connections reach each server that it
 * assumes to be up.
 */
async function untilRoutedToPrimary(databaseUrl: string): Promise<void> {
  const giveUpAt = Date.now() + healthyMaxMs
  for (let inARow = 0; inARow < 6; ) {
    if (Date.now() > giveUpAt) throw new Error('HAProxy still routes connections to a standby, or to none')
    const db = connect({ connectionString: databaseUrl, connectionsMax: 1, onError: () => {} })
    const isPrimary = await db
      .query<{ isStandby: boolean }>(sql`select pg_is_in_recovery() as "isStandby"`)
      .then(([row]) => row?.isStandby === false)
      .catch(() => false)
    await db.pool.end()
    inARow = isPrimary ? inARow + 1 : 0
    if (!isPrimary) await sleep(250)
  }
}

async function call(address: string, method: string, path: string, body?: object): Promise<Response> {
  return await fetch(`http://${address}:8008${path}`, {
    method,
    headers: { authorization: `Basic ${Buffer.from(`patroni:${password}`).toString('base64')}` },
    ...(body && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(path === '/switchover' ? 60_000 : 2_000),
  })
}

import { spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pino } from 'pino'
import { Agent, request } from 'undici'
import { inject } from 'vitest'
import { type SimulatorRun, startSimulator } from '../../src/cli/simulator-run.ts'
import { readConfig } from '../../src/config.ts'
import { copyMigrated } from './migrated-folder.ts'
import { findFreePort, makeDataDir } from './process.ts'

export type SimulatorProcess = {
  pid: number
  url: string
  /** Its DATA_DIR. */
  dataDir: string
  /** Its output. */
  said(): string
  /** Calls a control with the control token, and with the client's certificate if required. */
  control<Body = Record<string, unknown>>(name: string, body: object): Promise<{ status: number; body: Body }>
  signal(name: NodeJS.Signals): void
  /** Resolves with its exit code or signal. */
  ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
  /** Stops it, and removes its folder. */
  stop(): Promise<void>
}

const startMaxMs = 180_000
const controlToken = 'a-token-for-the-developer'

/** Starts the compiled `guiche simulator` as a separate process, and resolves when it is ready. */
export async function startSimulatorProcess(
  args: string[],
  { databaseUrl }: { databaseUrl?: string } = {},
): Promise<SimulatorProcess> {
  const { dataDir, remove } = await makeDataDir()
  if (databaseUrl === undefined) await copyMigrated(join(dataDir, 'simulator'))
  const port = await findFreePort()
  const main = join(inject('build'), 'src/cli/main.js')
  const given = ['simulator', '--port', String(port), '--control-token', controlToken, ...args]
  const child = spawn(process.execPath, [main, ...given], {
    cwd: dataDir,
    env: {
      PATH: process.env.PATH,
      DATA_DIR: dataDir,
      // A busy machine is no outage.
      DATABASE_WAIT_SECONDS: '60',
      ...(databaseUrl !== undefined && { DATABASE_URL: databaseUrl }),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  const ended: SimulatorProcess['ended'] = new Promise((resolve) =>
    child.once('exit', (code, signal) => resolve({ code, signal })),
  )
  let timer: NodeJS.Timeout | undefined
  const started = new Promise<void>((resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`It did not start in time: ${said}`)), startMaxMs)
    child.once('close', (code) => reject(new Error(`It ended with ${code}: ${said}`)))
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (part) => {
        said += String(part)
        if (said.includes('Start Guichê with')) resolve()
      })
  })
  try {
    await started
  } catch (error) {
    child.kill('SIGKILL')
    await ended
    await remove()
    throw error
  } finally {
    clearTimeout(timer)
  }
  const { url, control, close } = await connectTo(dataDir)
  return {
    pid: child.pid ?? 0,
    url,
    dataDir,
    said: () => said,
    control,
    signal: (name) => child.kill(name),
    ended,
    async stop() {
      await close()
      child.kill('SIGTERM')
      await ended
      await remove()
    },
  }
}

/** A simulator in this process. Its `stop` does not remove the folder. */
export type OwnSimulator = Pick<SimulatorProcess, 'url' | 'control' | 'stop'>

/** The simulator in this process, with mutual TLS. It keeps its certificates in the folder. */
export async function startTlsSimulator(
  dialect: string,
  place: { dataDir: string; databaseUrl: string },
): Promise<OwnSimulator> {
  return await startOwnSimulator({ dialect, tls: true }, place)
}

/** The simulator in this process: starting another process takes a second of CPU. */
export async function startOwnSimulator(
  options: Omit<SimulatorRun, 'host' | 'port' | 'controlToken'>,
  { dataDir, databaseUrl }: { dataDir: string; databaseUrl: string },
): Promise<OwnSimulator> {
  const simulator = await startSimulator(
    { host: '127.0.0.1', port: await findFreePort(), controlToken, ...options },
    {
      config: readConfig({ DATA_DIR: dataDir, DATABASE_URL: databaseUrl, DATABASE_WAIT_SECONDS: '60' }),
      log: pino({ level: 'silent' }),
      onLost() {},
    },
  )
  const { close, ...connection } = await connectTo(dataDir)
  return {
    ...connection,
    async stop() {
      await close()
      await simulator.stop()
    },
  }
}

async function connectTo(
  dataDir: string,
): Promise<Pick<SimulatorProcess, 'url' | 'control'> & { close(): Promise<void> }> {
  const { url, tls } = JSON.parse(await readFile(join(dataDir, 'simulator/simulator.json'), 'utf8'))
  const dispatcher = await toDispatcher(tls)
  return {
    url,
    async control<Body>(name: string, body: object) {
      const answer = await request(`${url}/sandbox/${name}`, {
        method: 'POST',
        body: JSON.stringify(body),
        headers: { authorization: `Bearer ${controlToken}`, 'content-type': 'application/json' },
        dispatcher,
      })
      return { status: answer.statusCode, body: (await answer.body.json()) as Body }
    },
    close: async () => await dispatcher.destroy(),
  }
}

async function toDispatcher(tls: { caFile: string; certFile: string; keyFile: string } | null): Promise<Agent> {
  if (!tls) return new Agent()
  const [ca, cert, key] = await Promise.all(
    [tls.caFile, tls.certFile, tls.keyFile].map((file) => readFile(file, 'utf8')),
  )
  return new Agent({ connect: { ca, cert, key } })
}

import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { findFreePort } from '../../src/port.ts'
import { type Bench, type Measured, measure, medianRate, toRow } from '../bench.ts'
import { endWithUs } from '../processes.ts'
import { addMerchants, makeDataDir, removeDataDir, startService } from '../service.ts'
import { createJob } from './create.ts'

const readyMaxMs = 60_000

/** Creates charges at an acquirer in another process, over HTTP as at a real PSP. The acquirer answers immediately. */
export async function remote(bench: Bench): Promise<void> {
  const dataDir = await makeDataDir()
  try {
    const simulator = await startSimulator(dataDir)
    try {
      await compare(bench, { dataDir, simulatorUrl: `http://127.0.0.1:${simulator.port}` })
    } finally {
      await simulator.stop()
    }
  } finally {
    await removeDataDir(dataDir)
  }
}

async function compare(
  bench: Bench,
  { dataDir, simulatorUrl }: { dataDir: string; simulatorUrl: string },
): Promise<void> {
  const { results, service, merchants, processes, rounds, seconds, say } = bench
  const remoteService = await startService({ dataDir, processes, environment: { SIMULATOR_URL: simulatorUrl } })
  try {
    const others = await addMerchants(remoteService, merchants.length)
    const seen = { sameProcess: [] as Measured[], remote: [] as Measured[] }
    for (let round = 1; round <= rounds; round += 1) {
      say(`create with an acquirer over HTTP, round ${round} of ${rounds}`)
      const common = { connections: 64, seconds }
      seen.sameProcess.push(await measure(service, createJob({ ...common, port: service.port, merchants })))
      seen.remote.push(
        await measure(remoteService, createJob({ ...common, port: remoteService.port, merchants: others })),
      )
    }
    const share = medianRate(seen.remote) / medianRate(seen.sameProcess)
    results.section(
      'Create with an acquirer over HTTP',
      'The simulated network is a process with its own PostgreSQL (`guiche simulator`), which Guichê reaches over HTTP on loopback; 64 connections.',
    )
    results.row(toRow('acquirer in the same process', seen.sameProcess))
    results.row(toRow('acquirer over HTTP', seen.remote, `${share.toFixed(2)} ×`))
  } finally {
    await remoteService.stop()
  }
}

async function startSimulator(dataDir: string): Promise<{ port: number; stop(): Promise<void> }> {
  const port = await findFreePort('127.0.0.1')
  const cli = join(import.meta.dirname, '../../src/cli/main.js')
  const child = spawn(process.execPath, [cli, 'simulator', '--port', String(port)], {
    cwd: dataDir,
    env: { PATH: process.env.PATH, NODE_ENV: 'production', DATA_DIR: dataDir, LOG_LEVEL: 'warn' },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  endWithUs(child)
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const stop = async () => {
    child.kill('SIGTERM')
    await ended
  }
  const giveUpAt = performance.now() + readyMaxMs
  while (child.exitCode === null && performance.now() < giveUpAt) {
    const answer = await fetch(`http://127.0.0.1:${port}/qr/jwks.json`).catch(() => null)
    await answer?.body?.cancel()
    if (answer?.ok) return { port, stop }
    await sleep(20)
  }
  await stop()
  throw new Error('the simulator did not start')
}

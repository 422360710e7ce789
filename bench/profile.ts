import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { measure, rateOf } from './bench.ts'
import { createJob } from './cases/create.ts'
import { byComponent, type CpuProfile } from './components.ts'
import { generate } from './processes.ts'
import { toErrors, toMs } from './results.ts'
import { addMerchants, makeDataDir, removeDataDir, startService } from './service.ts'

const functionsShown = 40

/**
 * Shows where the processor time of creating a transaction (`POST /transaction`) goes, at 64 connections: by process,
 * then within Guichê by component and by function.
 */
export async function profileCreate({ seconds }: { seconds: number }): Promise<string> {
  const dataDir = await makeDataDir()
  const hook = pathToFileURL(join(import.meta.dirname, 'profile-hook.js')).href
  const service = await startService({ dataDir, execArgv: ['--import', hook] })
  try {
    const merchants = await addMerchants(service, 50)
    const job = createJob({ port: service.port, merchants, connections: 64, seconds, warmUpSeconds: 0 })
    // Warm-up.
    await generate({ ...job, seconds: 4 })
    await service.emptyLog()

    // First without the profiler, which has its own cost.
    const report = await measure(service, job)
    if (report.firstErrorBody !== undefined) process.stderr.write(`${report.firstErrorBody}\n`)
    const file = join(dataDir, 'create.cpuprofile')
    await send(service.child, { profile: 'start' })
    await generate(job)
    await send(service.child, { profile: 'stop', file })
    const profile = toSources(JSON.parse(readFileSync(file, 'utf8')))

    const lines = [
      `Create, 64 connections, ${seconds} s: ${Math.round(rateOf(report))}/s, p50 ${toMs(report, 50).toFixed(1)} ms, p99 ${toMs(report, 99).toFixed(1)} ms ${toErrors([report]) ?? ''}`,
      '',
      '| process | µs of CPU per create |',
      '|---|---|',
      `| Guichê | ${report.guicheMicros.toFixed(1)} |`,
      `| PostgreSQL, all of it | ${report.postgresMicros.toFixed(1)} |`,
      `| load generator | ${(report.cpuMicros / report.count).toFixed(1)} |`,
      '',
      ...describeProfile(profile, report.guicheMicros),
    ]
    return lines.join('\n')
  } finally {
    await service.stop()
    await removeDataDir(dataDir)
  }
}

/** With the places in the sources instead of those in the bundle. */
function toSources(profile: CpuProfile): CpuProfile {
  const maps = new Map<string, SourceMap | null>()
  const nodes = profile.nodes.map((node) => {
    const { url, lineNumber, columnNumber } = node.callFrame
    if (!maps.has(url)) {
      const path = url.startsWith('file:') ? `${fileURLToPath(url)}.map` : ''
      maps.set(url, existsSync(path) ? new SourceMap(JSON.parse(readFileSync(path, 'utf8'))) : null)
    }
    const entry = maps.get(url)?.findEntry(lineNumber, columnNumber)
    if (!entry || !('originalSource' in entry)) return node
    return { ...node, callFrame: { ...node.callFrame, url: entry.originalSource, lineNumber: entry.originalLine } }
  })
  return { ...profile, nodes }
}

function describeProfile(profile: CpuProfile, microsPerCreate: number): string[] {
  const components = [...byComponent(profile)].sort(([, a], [, b]) => b.micros - a.micros)
  const total = components.reduce((sum, [, { micros }]) => sum + micros, 0)
  const perCreate = (micros: number) => ((micros / total) * microsPerCreate).toFixed(1)
  const functions = components
    .flatMap(([component, { functions: own }]) => [...own].map(([name, micros]) => ({ component, name, micros })))
    .sort((a, b) => b.micros - a.micros)
    .slice(0, functionsShown)
  return [
    '| component of Guichê | µs per create | share |',
    '|---|---|---|',
    ...components.map(
      ([name, { micros }]) => `| ${name} | ${perCreate(micros)} | ${((micros / total) * 100).toFixed(1)} % |`,
    ),
    '',
    '| function | component | µs per create |',
    '|---|---|---|',
    ...functions.map(({ component, name, micros }) => `| ${name} | ${component} | ${perCreate(micros)} |`),
  ]
}

async function send(child: ChildProcess, message: object): Promise<void> {
  const answered = once(child, 'message')
  child.send(message)
  const [answer] = await answered
  if (answer !== 'done') throw new Error(String(answer))
}

import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { Guiche } from '../../sdk/src/index.ts'
import { installGuiche, type PackedGuiche, packGuiche } from '../support/packed-guiche.ts'
import { findFreePort, type ServiceProcess, startServiceProcess } from '../support/process.ts'

let packed: PackedGuiche
const cleanups: (() => Promise<unknown>)[] = []

beforeAll(async () => {
  packed = await packGuiche()
  cleanups.push(packed.remove)
})
afterAll(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup()
})

it('the package has the program and what it serves, no sources, and is smaller than 10 MB', async () => {
  const folders = /^(?:bin|migrations|dashboard\/dist|dist\/(?:src|guide))\//
  const others = packed.files.filter((file) => !folders.test(file))
  expect(others.toSorted()).toEqual(['.env.example', 'CHANGELOG.md', 'LICENSE', 'README.md', 'package.json'])
  expect(packed.files).toEqual(
    expect.arrayContaining([
      'bin/guiche.js',
      'dist/src/main.js',
      'dist/src/THIRD-PARTY-LICENSES',
      'dist/guide/index.html',
      'dashboard/dist/index.html',
    ]),
  )
  expect(packed.files.filter((file) => /\.(?:tsx?|map)$|\.test\./.test(file))).toEqual([])
  expect((await stat(packed.tarball)).size).toBeLessThan(10_000_000)
})

it('the package brings an empty folder to its first PAID', async ({ annotate }) => {
  const folder = await mkdtemp(join(tmpdir(), 'guiche-installed-'))
  cleanups.push(async () => await rm(folder, { recursive: true, force: true }))
  const startedAt = performance.now()
  await installGuiche(packed, folder)
  const installedAt = performance.now()
  const start = async (environment = {}) =>
    await startServiceProcess({
      command: [join(folder, 'node_modules/guiche/bin/guiche.js'), 'start'],
      cwd: folder,
      // Unset: it is made in the working directory.
      dataDir: '',
      port: await findFreePort(),
      environment,
    })
  const stop = async ({ signal, ended }: ServiceProcess) => {
    signal('SIGTERM')
    expect(await ended).toMatchObject({ code: 0 })
  }
  const service = await start()
  const guiche = new Guiche(JSON.parse(readFileSync(join(folder, 'data/sandbox.json'), 'utf8')))
  const { id, pixResponse } = await guiche.transactions.create({ amount: 2590 })
  await guiche.sandbox.pay({ uri: pixResponse.uri })
  expect(await guiche.transactions.waitFor(id, 'PAID')).toMatchObject({ amountPaid: 2590 })
  const seconds = (from: number) => ((performance.now() - from) / 1000).toFixed(1)
  await annotate(`first PAID after ${seconds(startedAt)} s, ${seconds(installedAt)} s of them after the installation`)

  for (const path of ['/dashboard/', '/guide/', '/docs', '/openapi.json', '/health/ready'])
    expect([path, (await fetch(`${service.baseUrl}${path}`)).status]).toEqual([path, 200])
  expect(readdirSync(folder).filter((name) => !/^package(?:-lock)?\.json$/.test(name))).toEqual([
    'data',
    'node_modules',
  ])
  await stop(service)

  const several = await start({ PROCESSES: '2' })
  expect((await fetch(`${several.baseUrl}/health/ready`)).status).toBe(200)
  expect(several.lines.filter(({ msg }) => msg === 'a process of the service is ready')).toHaveLength(2)
  await stop(several)
})

it('a built tree without development dependencies needs no build to start', () => {
  const build = () => {
    const { status, stderr } = spawnSync(process.execPath, ['scripts/build.mjs', '--start'], {
      cwd: packed.checkout,
      encoding: 'utf8',
    })
    return [status, stderr]
  }
  expect(build()).toEqual([0, ''])
  rmSync(join(packed.checkout, 'dist/.built'))
  expect(build()).toEqual([1, expect.stringContaining('has not been built')])
})

import { execFile, spawn, spawnSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Guiche } from '../../sdk/src/index.ts'
import { findFreePort } from '../../src/port.ts'

/** Node.js with npm: an image that buildah can pull, or one that test/deploy/base-image.sh makes without a registry. */
const base = process.env.GUICHE_BASE_IMAGE ?? ''

const reason =
  spawnSync('buildah', ['--version']).status !== 0
    ? 'buildah is not installed'
    : base === ''
      ? 'GUICHE_BASE_IMAGE is not set'
      : null

const run = promisify(execFile)
const buildah = async (...args: string[]) => (await run('buildah', args, { maxBuffer: 2 ** 26 })).stdout.trim()
/** What works without the rights that a container runtime needs. */
const isolation = ['--isolation', 'chroot']
const image = `localhost/guiche-test-${process.pid}`

describe.skipIf(reason !== null)(
  `the image of deploy/Dockerfile${reason === null ? '' : ` (skipped: ${reason})`}`,
  () => {
    let container: string
    const inContainer = (...args: string[]) => buildah('run', ...isolation, container, '--', ...args)
    const cleanups: (() => Promise<unknown>)[] = []

    beforeAll(async () => {
      // npm runs as root in the build, with root's cache.
      const cache = join(homedir(), '.npm')
      await buildah(
        ...['bud', '--quiet', ...isolation, '--format', 'docker', '--file', 'deploy/Dockerfile', '--tag', image],
        ...['--volume', `${cache}:${cache}`],
        ...['--build-arg', `BASE_IMAGE=${base}`],
        '.',
      )
      cleanups.push(async () => await buildah('rmi', '--force', image))
      container = await buildah('from', image)
      cleanups.push(async () => await buildah('rm', container))
    }, 1_800_000)
    afterAll(async () => {
      for (const cleanup of cleanups.reverse()) await cleanup()
    })

    it('comes to its first PAID as an ordinary user, writes only to /data, and ends with 0', async ({ annotate }) => {
      const { Docker } = JSON.parse(await buildah('inspect', '--type', 'image', image)) as Inspected
      const { User, Entrypoint, Cmd, Healthcheck } = Docker.config
      expect(User).toBe('10001')
      const root = await buildah('mount', container)
      const before = await listFiles(root)

      const startedAt = performance.now()
      const port = await findFreePort('127.0.0.1')
      const settings = ['--env', `PORT=${port}`]
      // buildah runs a command, not the entry point.
      const service = spawn('buildah', ['run', ...isolation, ...settings, container, '--', ...Entrypoint, ...Cmd])
      const ended = new Promise<number | null>((resolve) => service.once('exit', resolve))
      let printed = ''
      for (const stream of [service.stdout, service.stderr]) {
        stream.on('data', (chunk) => {
          printed += chunk
        })
      }
      const baseUrl = `http://127.0.0.1:${port}`
      await expect
        .poll(async () => service.exitCode ?? (await fetch(`${baseUrl}/health/ready`).catch(() => null))?.status)
        .toBe(200)
      const pid = await findLastChild(service.pid ?? 0)
      const guiche = new Guiche(
        JSON.parse(await readFile(join('/proc', String(pid), 'root/data/sandbox.json'), 'utf8')),
      )
      const { id, pixResponse } = await guiche.transactions.create({ amount: 2590 })
      await guiche.sandbox.pay({ uri: pixResponse.uri })
      expect(await guiche.transactions.waitFor(id, 'PAID')).toMatchObject({ amountPaid: 2590 })
      await annotate(`first PAID after ${((performance.now() - startedAt) / 1000).toFixed(1)} s`)
      for (const path of ['/dashboard/', '/guide/', '/docs'])
        expect([path, (await fetch(`${baseUrl}${path}`)).status]).toEqual([path, 200])

      const [, ...check] = Healthcheck.Test
      const health = (PORT: number) =>
        run('buildah', ['run', ...isolation, '--env', `PORT=${PORT}`, container, '--', ...check]).then(
          () => 'healthy',
          () => 'unhealthy',
        )
      expect([await health(port), await health(await findFreePort('127.0.0.1'))]).toEqual(['healthy', 'unhealthy'])

      process.kill(pid, 'SIGTERM')
      expect([await ended, printed]).toEqual([0, expect.stringContaining('"msg":"stopped"')])
      expect((await listFiles(root)).filter((file) => !before.includes(file))).toEqual([])
    })

    it('runs commands', async () => {
      expect(await inContainer('guiche', 'secret-key')).toMatch(/^[\w-]{43}$/)
    })
  },
)

type Inspected = {
  Docker: { config: { User: string; Entrypoint: string[]; Cmd: string[]; Healthcheck: { Test: string[] } } }
}

/** The process that buildah runs: a signal to buildah would kill it. */
async function findLastChild(pid: number): Promise<number> {
  const { stdout } = await run('ps', ['-eo', 'pid=,ppid=,comm='])
  const processes = stdout.split('\n').map((line) => line.trim().split(/\s+/))
  const [child] = processes.find(([, parent, name]) => parent === String(pid) && name !== 'postgres') ?? []
  return child === undefined ? pid : await findLastChild(Number(child))
}

/** Files of the image outside of /run. A container with a read-only root could not write any of them. */
async function listFiles(root: string): Promise<string[]> {
  const { stdout } = await run(
    'find',
    [root, '-xdev', '-path', `${root}/run`, '-prune', '-o', '-type', 'f', '-print'],
    {
      maxBuffer: 2 ** 26,
    },
  )
  return stdout.split('\n')
}

import { execFile } from 'node:child_process'
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { manualClock } from '../support/clock.ts'
import { documents, readDocument } from '../support/documents.ts'
import { readSamples } from '../support/packed-sdk.ts'
import { startTestService } from '../support/service.ts'

const run = promisify(execFile)
/** In the repository, so that programs find its packages, and in `dist`, which git ignores. */
const folder = resolve(`dist/checkout-${process.pid}`)
const cleanups: (() => Promise<unknown>)[] = []

beforeAll(async () => {
  const service = await startTestService({ clock: manualClock(new Date()) })
  cleanups.push(service.stop)
  await mkdir(join(folder, 'data'), { recursive: true })
  cleanups.push(async () => await rm(folder, { recursive: true, force: true }))
  await cp(join(service.dataDir, 'sandbox.json'), join(folder, 'data/sandbox.json'))
})
afterAll(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup()
})

describe('in a fresh clone of the repository', () => {
  it.each(['README.md', 'docs/quick-start.md'])(
    'the first program of %s prints what the document says',
    async (document) => {
      const [program = ''] = await readSamples(document)
      expect(program.split('\n').length).toBeLessThanOrEqual(10)
      // The workspace link points to what `npm start` builds; nothing is packed or compiled for it.
      await writeFile(join(folder, 'pay.mjs'), program)
      const { stdout, stderr } = await run(process.execPath, ['pay.mjs'], { cwd: folder })
      expect([stdout, stderr]).toEqual(['PAID 2590\n', ''])
      expect(program).toContain('// PAID 2590\n')
    },
  )

  it('`npm start` builds what a program imports', async () => {
    const { scripts } = JSON.parse(await readFile('package.json', 'utf8'))
    expect(scripts.prestart).toBe('node scripts/build.mjs --start')
    expect(scripts.workspaces).toBe('node scripts/build.mjs --workspaces')
    // This test run has built it, so there is nothing to do and nothing to print.
    expect(await run(process.execPath, ['scripts/build.mjs', '--workspaces'])).toEqual({ stdout: '', stderr: '' })
  })
})

describe('the documented installation', () => {
  const texts = [...documents, 'dashboard/src/screens/credentials/snippet.tsx'].map((name) => [
    name,
    readDocument(name),
  ])

  it('installs the file that npm packs from the repository', async () => {
    const args = ['pack', '-w', '@guiche/sdk', '--dry-run', '--ignore-scripts', '--json']
    const { stdout } = await run('npm', args, { env: { ...process.env, npm_config_update_notifier: 'false' } })
    const [{ filename }] = JSON.parse(stdout) as [{ filename: string }]
    const named = texts.flatMap(([, text = '']) => text.match(/guiche-sdk-[\w.]+\.tgz/g) ?? [])
    expect(named.length).toBeGreaterThanOrEqual(3)
    expect(new Set(named)).toEqual(new Set([filename]))
  })

  it('never names a package of npm’s registry, which anybody could register', () => {
    const wrong = texts.filter(([, text = '']) => /npm (?:i|install|add) @guiche/.test(text))
    expect(wrong.map(([name]) => name)).toEqual([])
  })
})

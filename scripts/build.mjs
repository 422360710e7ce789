// Builds the service, the SDK and the dashboard, each only if its sources are newer than its output: a second start
// waits for none of them. `--workspaces` builds only the SDK and the dashboard, which tests need; `--guide` builds only
// the guide; `--start` also builds the guide, in the background, so that the service starts without waiting for it;
// `--pack` builds everything that `npm pack` packs.
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { constants, setPriority } from 'node:os'
import { dirname, join } from 'node:path'

const root = join(import.meta.dirname, '..')

/** @param {string} path */
function newest(path) {
  if (statSync(path).isFile()) return statSync(path).mtimeMs
  // Folders too: a folder changes when a file in it is removed.
  const ages = readdirSync(path, { recursive: true, encoding: 'utf8' }).map(
    (name) => statSync(join(path, name)).mtimeMs,
  )
  return Math.max(statSync(path).mtimeMs, ...ages)
}

/**
 * @param {string} made
 * @param {string[]} sources
 */
function isFresh(made, sources) {
  const path = join(root, made)
  return existsSync(path) && sources.every((source) => newest(join(root, source)) < statSync(path).mtimeMs)
}

/**
 * This file and all that it needs when it runs. Imports of types are no part of a bundle.
 * @param {string} path
 * @param {Set<string>} found
 */
function modulesOf(path, found = new Set()) {
  if (found.has(path)) return found
  found.add(path)
  const imports = /^(?:import|export) (?!type\b)[^']*from '(\.[^']*)'/gm
  for (const [, name = ''] of readFileSync(join(root, path), 'utf8').matchAll(imports))
    modulesOf(join(dirname(path), name), found)
  return found
}

/** The compiler's folder; null in a tree that was installed without development dependencies. */
function findCompiler() {
  try {
    return dirname(createRequire(import.meta.url).resolve('typescript/package.json'))
  } catch {
    return null
  }
}

/** @param {string} project */
function compile(project) {
  const tsc = join(findCompiler() ?? '', 'bin/tsc')
  execFileSync(process.execPath, [tsc, '-p', join(root, project)], { stdio: 'inherit' })
}

const serviceMarker = 'dist/.built'

/** @typedef {{ made: string, sources: string[], isWorkspace?: boolean, build: () => void | Promise<void> }} Part */

/** In the order in which they are built. @type {Part[]} */
const parts = [
  {
    made: serviceMarker,
    sources: ['src', 'simulator', 'qr-png/src', 'sdk/src', 'scripts', 'package-lock.json'],
    build: async () => {
      const { bundle } = await import('./bundle.mjs')
      await bundle(join(root, 'dist'))
      // Files that did not change keep their names, so none of them shows when this ran.
      writeFileSync(join(root, serviceMarker), '')
    },
  },
  {
    // The workspace link in node_modules points to it, for a program in the checkout.
    made: 'sdk/dist/index.js',
    sources: ['sdk/src', 'sdk/tsconfig.json', 'sdk/tsconfig.build.json', 'package-lock.json'],
    isWorkspace: true,
    build: () => compile('sdk/tsconfig.build.json'),
  },
  {
    made: 'dashboard/dist/index.html.br',
    sources: [
      'dashboard/src',
      'dashboard/public',
      'dashboard/index.html',
      'dashboard/vite.config.ts',
      'sdk/src',
      // What it shares with the service.
      ...modulesOf('dashboard/src/types.ts'),
      'package-lock.json',
    ],
    isWorkspace: true,
    build: async () => {
      // Always production, whatever this process is: a test would otherwise get React's development build, half as
      // large again.
      process.env.NODE_ENV = 'production'
      const { build } = await import('vite')
      await build({ configFile: join(root, 'dashboard/vite.config.ts'), logLevel: 'warn' })
    },
  },
]

/** @type {Part} */
const guide = {
  made: 'dist/guide/index.html',
  sources: [
    'docs',
    'deploy',
    'README.md',
    'CHANGELOG.md',
    'CONTRIBUTING.md',
    '.env.example',
    'bench/RESULTS.md',
    'package-lock.json',
  ],
  build: async () => {
    const { build } = await import('vitepress')
    // Written next to it first, so that a reader sees only complete versions.
    const [made, draft] = [join(root, 'dist/guide'), join(root, `dist/guide-${process.pid}`)]
    try {
      await build(join(root, 'docs'), {
        outDir: draft,
        onAfterConfigResolve: (config) => {
          config.tempDir = `${draft}.tmp`
          config.logger.info = () => {}
        },
      })
      if (existsSync(made)) renameSync(made, `${draft}.old`)
      renameSync(draft, made)
    } finally {
      for (const folder of [draft, `${draft}.old`]) rmSync(folder, { recursive: true, force: true })
    }
  },
}

const option = process.argv[2]
if (findCompiler() === null) {
  // Nothing can be built here, and nothing has to be if it was built before.
  if (existsSync(join(root, serviceMarker))) process.exit(0)
  process.stderr.write(
    'Guichê has not been built, and the development dependencies that build it are missing: npm ci\n',
  )
  process.exit(1)
}
if (option === '--pack') {
  // What a former version built would be packed, too.
  for (const name of ['src', '.built']) rmSync(join(root, 'dist', name), { recursive: true, force: true })
}
const chosen =
  {
    '--guide': [guide],
    '--workspaces': parts.filter(({ isWorkspace }) => isWorkspace),
    '--pack': [...parts, guide],
  }[option] ?? parts
const isFirst = !existsSync(join(root, serviceMarker))
const stale = chosen.filter(({ made, sources }) => !isFresh(made, sources))
// On standard error: some commands print JSON on standard output.
if (stale.length > 0)
  process.stderr.write(
    isFirst && chosen.includes(parts[0])
      ? 'Building Guichê (about 10 s, only the first time)…\n'
      : 'Building what has changed…\n',
  )
for (const { build } of stale) await build()
if (option === '--start' && !isFresh(guide.made, guide.sources)) {
  const builder = spawn(process.execPath, [import.meta.filename, '--guide'], { detached: true, stdio: 'ignore' })
  if (builder.pid !== undefined) setPriority(builder.pid, constants.priority.PRIORITY_LOW)
  builder.unref()
}

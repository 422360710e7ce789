// Builds the service, the SDK, the dashboard and the guide, each only if its sources are newer than its output: a
// second start waits for none of them. `--workspaces` builds only the SDK and the dashboard, which tests need.
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
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

/** @param {string} project */
function compile(project) {
  const typescript = dirname(createRequire(import.meta.url).resolve('typescript/package.json'))
  execFileSync(process.execPath, [join(typescript, 'bin/tsc'), '-p', join(root, project)], { stdio: 'inherit' })
}

const serviceMarker = 'dist/.built'

/** In the order in which they are built. @type {{ made: string, sources: string[], isWorkspace: boolean, build: () => void | Promise<void> }[]} */
const parts = [
  {
    made: serviceMarker,
    sources: ['src', 'simulator', 'qr-png/src', 'scripts', 'tsconfig.json', 'tsconfig.build.json', 'package-lock.json'],
    isWorkspace: false,
    build: () => {
      compile('tsconfig.build.json')
      // The compiler writes only changed files, so none of them shows when it ran.
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
  {
    made: 'dist/guide/index.html',
    sources: [
      'docs',
      'scripts',
      'README.md',
      'CHANGELOG.md',
      'CONTRIBUTING.md',
      '.env.example',
      'bench/RESULTS.md',
      'sdk/README.md',
    ],
    isWorkspace: false,
    build: () => {
      execFileSync(process.execPath, [join(root, 'dist/scripts/guide.js')], { cwd: root, stdio: 'inherit' })
    },
  },
]

const chosen = process.argv.includes('--workspaces') ? parts.filter(({ isWorkspace }) => isWorkspace) : parts
const isFirst = !existsSync(join(root, serviceMarker))
const stale = chosen.filter(({ made, sources }) => !isFresh(made, sources))
// On standard error: some commands print JSON on standard output.
if (stale.length > 0)
  process.stderr.write(
    isFirst ? 'Building Guichê (about 20 s, only the first time)…\n' : 'Building what has changed…\n',
  )
for (const { build } of stale) await build()

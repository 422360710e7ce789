// Builds the SDK and the dashboard, each where what it is made of is newer than what was built: a second start need not wait for them.
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

const root = join(import.meta.dirname, '..')

/** @param {string} path */
function newest(path) {
  if (statSync(path).isFile()) return statSync(path).mtimeMs
  const ages = readdirSync(path, { recursive: true, encoding: 'utf8' }).map(
    (name) => statSync(join(path, name)).mtimeMs,
  )
  return Math.max(...ages)
}

/**
 * @param {string} made
 * @param {string[]} sources
 */
function isFresh(made, sources) {
  const path = join(root, made)
  return existsSync(path) && sources.every((source) => newest(join(root, source)) < statSync(path).mtimeMs)
}

// The workspace link in node_modules leads to it, from a program in the checkout.
if (!isFresh('sdk/dist/index.js', ['sdk/src', 'sdk/tsconfig.json', 'sdk/tsconfig.build.json', 'package-lock.json'])) {
  const typescript = dirname(createRequire(import.meta.url).resolve('typescript/package.json'))
  const args = [join(typescript, 'bin/tsc'), '-p', join(root, 'sdk/tsconfig.build.json')]
  execFileSync(process.execPath, args, { stdio: 'inherit' })
}

const sources = [
  'dashboard/src',
  'dashboard/public',
  'dashboard/index.html',
  'dashboard/vite.config.ts',
  'sdk/src',
  'package-lock.json',
]
if (!isFresh('dashboard/dist/index.html.br', sources)) {
  // Whatever this process is: a test's React would be the one for developers, and half as large again.
  process.env.NODE_ENV = 'production'
  const { build } = await import('vite')
  await build({ configFile: join(root, 'dashboard/vite.config.ts'), logLevel: 'warn' })
}

// Builds the dashboard where what it is made of is newer than what was built: a second start need not wait for it.
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')
const made = join(root, 'dashboard/dist/index.html.br')

/** @param {string} path */
function newest(path) {
  if (statSync(path).isFile()) return statSync(path).mtimeMs
  const ages = readdirSync(path, { recursive: true, encoding: 'utf8' }).map(
    (name) => statSync(join(path, name)).mtimeMs,
  )
  return Math.max(...ages)
}

const sources = [
  'dashboard/src',
  'dashboard/public',
  'dashboard/index.html',
  'dashboard/vite.config.ts',
  'sdk/src',
  'package-lock.json',
]
const isFresh = existsSync(made) && sources.every((path) => newest(join(root, path)) < statSync(made).mtimeMs)
if (!isFresh) {
  // Whatever this process is: a test's React would be the one for developers, and half as large again.
  process.env.NODE_ENV = 'production'
  const { build } = await import('vite')
  await build({ configFile: join(root, 'dashboard/vite.config.ts'), logLevel: 'warn' })
}

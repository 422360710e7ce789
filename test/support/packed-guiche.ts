import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { inject } from 'vitest'
import { isLong } from './random.ts'

export type PackedGuiche = {
  /** A checkout that was built, without development dependencies. */
  checkout: string
  tarball: string
  /** The files in it, as paths in the package. */
  files: string[]
  remove(): Promise<void>
}

const run = promisify(execFile)

/**
 * Runs `npm pack` on a copy of the checkout. `npm run test:long` builds and installs with npm alone; `npm run test:all`
 * packs what the test run has built, and uses the dependencies that the checkout has.
 */
export async function packGuiche(): Promise<PackedGuiche> {
  const root = await mkdtemp(join(tmpdir(), 'guiche-package-'))
  const checkout = join(root, 'checkout')
  const { stdout: listed } = await run('git', ['ls-files', '--cached', '--others', '--exclude-standard', '-z'])
  for (const file of listed.split('\0').filter(Boolean)) await cp(file, join(checkout, file)).catch(ignoreMissing)
  if (isLong) await symlink(resolve('node_modules'), join(checkout, 'node_modules'))
  else await placeBuild(checkout)

  const args = ['pack', '--json', '--pack-destination', root, ...(isLong ? [] : ['--ignore-scripts'])]
  const { stdout } = await run('npm', args, { cwd: checkout, maxBuffer: 2 ** 24 })
  const [{ filename, files }] = JSON.parse(stdout.slice(stdout.indexOf('[\n'))) as [Packed]
  await rm(join(checkout, 'node_modules'), { force: true })
  return {
    checkout,
    tarball: join(root, filename),
    files: files.map(({ path }) => path),
    remove: async () => await rm(root, { recursive: true, force: true }),
  }
}

type Packed = { filename: string; files: { path: string }[] }

/** Another test may have removed a file since it was listed. */
function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error
}

/** What `prepack` builds. The guide has its own tests, and building it takes ten seconds. */
async function placeBuild(checkout: string): Promise<void> {
  await cp(inject('build'), join(checkout, 'dist'), { recursive: true })
  await cp('dashboard/dist', join(checkout, 'dashboard/dist'), { recursive: true })
  await mkdir(join(checkout, 'dist/guide'))
  await writeFile(join(checkout, 'dist/guide/index.html'), '<title>The guide</title>')
  await writeFile(join(checkout, 'dist/.built'), '')
}

/** Installs the package into an empty folder. */
export async function installGuiche({ tarball }: PackedGuiche, folder: string): Promise<void> {
  if (isLong) {
    await run('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', tarball], { cwd: folder })
    return
  }
  // Without the network: unpacked, beside the declared dependencies and nothing else.
  const modules = join(folder, 'node_modules')
  await mkdir(join(modules, 'guiche'), { recursive: true })
  await run('tar', ['xzf', tarball, '--strip-components', '1', '-C', join(modules, 'guiche')])
  const manifest = JSON.parse(await readFile(join(modules, 'guiche/package.json'), 'utf8'))
  for (const name of Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies })) {
    await mkdir(dirname(join(modules, name)), { recursive: true })
    await symlink(resolve('node_modules', name), join(modules, name))
  }
}

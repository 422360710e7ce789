import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { isLong } from './random.ts'

export type PackedSdk = {
  /** The package as published, unpacked. */
  folder: string
  /** The files that npm would publish, as paths in the package. */
  files: string[]
  tarball: string
  /** An empty folder into which the packed package was installed, without network. */
  shop: string
  remove(): Promise<void>
}

const run = promisify(execFile)

/**
 * Builds, packs and installs the SDK, or another package of the checkout, as a shop gets it. In a separate folder, so
 * that two concurrent runs do not share its dist/. Except in `npm run test:long`, the other package is only unpacked:
 * it has no dependencies.
 */
export async function packSdk(name: 'sdk' | 'qr-png' = 'sdk'): Promise<PackedSdk> {
  const root = await mkdtemp(join(tmpdir(), 'guiche-sdk-'))
  const [source, shop] = [join(root, 'package'), join(root, 'shop')]
  await Promise.all([source, shop].map((folder) => mkdir(folder)))
  for (const file of ['package.json', 'README.md', 'LICENSE']) await cp(`${name}/${file}`, join(source, file))
  if (name === 'sdk') await run(process.execPath, ['scripts/build-sdk.mjs', join(source, 'dist')])
  else await compile(['-p', `${name}/tsconfig.build.json`, '--outDir', join(source, 'dist')])

  // The package is built already. npm's cache and settings must not affect the test.
  const npm = (cwd: string, args: string[]) =>
    run('npm', args, { cwd, env: { PATH: process.env.PATH, HOME: root, npm_config_cache: join(root, 'cache') } })
  const packed = await npm(source, ['pack', '--json', '--ignore-scripts', '--pack-destination', root])
  const [{ filename, files }] = JSON.parse(packed.stdout) as [{ filename: string; files: { path: string }[] }]
  await writeFile(join(shop, 'package.json'), '{ "type": "module" }')
  const folder = join(shop, `node_modules/@guiche/${name}`)
  if (name === 'sdk' || isLong) {
    await npm(shop, ['install', '--offline', '--no-audit', '--no-fund', join(root, filename)])
  } else {
    await mkdir(folder, { recursive: true })
    await run('tar', ['xzf', join(root, filename), '--strip-components', '1', '-C', folder])
  }
  return {
    folder,
    tarball: join(root, filename),
    files: files.map(({ path }) => path).sort(),
    shop,
    remove: async () => await rm(root, { recursive: true, force: true }),
  }
}

/** Compiles files of the shop with the package installed there and the checkout's TypeScript. Throws its output. */
export async function compileInShop(shop: string, files: string[], platform: 'node' | 'browser' = 'node') {
  const settings = {
    compilerOptions: {
      target: 'es2022',
      module: 'nodenext',
      strict: true,
      // Checks the package's declarations too.
      skipLibCheck: false,
      lib: platform === 'node' ? ['es2022'] : ['es2022', 'dom', 'dom.iterable'],
      types: platform === 'node' ? ['node'] : [],
    },
    files,
  }
  await mkdir(join(shop, 'node_modules/@types'), { recursive: true })
  await symlink(resolve('node_modules/@types/node'), join(shop, 'node_modules/@types/node')).catch(() => {})
  await writeFile(join(shop, 'tsconfig.json'), JSON.stringify(settings))
  await compile(['-p', shop])
}

async function compile(args: string[]): Promise<void> {
  await run(resolve('node_modules/.bin/tsc'), args).catch((error: { stdout: string }) => {
    throw new Error(error.stdout)
  })
}

/** The TypeScript blocks of a document, in order. */
export async function readSamples(document: string): Promise<string[]> {
  return [...(await readFile(document, 'utf8')).matchAll(/^```ts\n(.*?)^```$/gms)].map(([, block = '']) => block)
}

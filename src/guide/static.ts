import { createHash } from 'node:crypto'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import fastifyStatic from '@fastify/static'
import { packageFolder } from '../db/migrate.ts'
import type { Server } from '../http/server.ts'
import { AppError } from '../lib/errors.ts'

/** A complete build of the guide. The next build replaces the whole folder. */
type Site = { builtAt: number; names: Set<string>; policy: string }

/** The guide at `/guide/`: the pages that `npm run guide` builds from docs/. They may be built after the start. */
export async function registerGuide(app: Server): Promise<void> {
  const folder = join(packageFolder(), 'dist/guide')
  let site: Site | undefined
  const currentSite = async (): Promise<Site> => {
    // Files are missing before the first build, and for a moment while a build replaces the former one.
    const built = await stat(join(folder, 'index.html')).catch(() => undefined)
    if (site?.builtAt !== built?.mtimeMs) site = built && (await readSite(folder, built.mtimeMs).catch(() => undefined))
    // With `refresh` a browser reloads the page until the guide is there.
    if (site === undefined) throw new AppError('not_found', { detail: notBuilt, headers: { refresh: '3' } })
    return site
  }
  await app.register(async (scoped) => {
    // The plugin adds no routes, only `sendFile`. Its root has to exist, or it warns: the guide may be built later.
    await scoped.register(fastifyStatic, { root: packageFolder(), serve: false, cacheControl: false })
    const route = { config: { access: { public: true } }, schema: { hide: true } } as const
    scoped.get('/guide', route, async (_, reply) => reply.redirect('guide/'))
    // Where programs look for it; the guide has the same file.
    scoped.get('/llms.txt', route, async (_, reply) => {
      await currentSite()
      return await reply.type('text/plain; charset=utf-8').sendFile('llms.txt', folder)
    })
    scoped.get<{ Params: { '*': string } }>('/guide/*', route, async (request, reply) => {
      const path = request.params['*']
      const name = path === '' || path.endsWith('/') ? `${path}index.html` : path
      const { names, policy } = await currentSite()
      if (!names.has(name))
        throw new AppError('not_found', { detail: 'The guide has no such page. It begins at /guide/.' })
      return await reply
        .header('content-security-policy', policy)
        // The names of assets contain a hash of their content.
        .header('cache-control', name.startsWith('assets/') ? 'public, max-age=31536000, immutable' : 'no-cache')
        .sendFile(name, folder)
    })
  })
}

const notBuilt =
  'The guide has not been built yet. "npm start" builds it in the background, which takes about twenty seconds; otherwise run "npm run guide".'

async function readSite(folder: string, builtAt: number): Promise<Site> {
  const names = (await readdir(folder, { recursive: true })).filter((name) => name.includes('.'))
  const page = await readFile(join(folder, 'index.html'), 'utf8')
  return { builtAt, names: new Set(names), policy: policyOf(page) }
}

/**
 * Its pages may only load their own files. Each has the same two short scripts inline, which set the theme and mark a
 * Mac before anything is shown: they are allowed by their hash. Style attributes have the colours of samples.
 */
function policyOf(page: string): string {
  const scripts = [...page.matchAll(/<script(?![^>]*\ssrc=)[^>]*>(.*?)<\/script>/gs)].map(
    ([, script = '']) => `'sha256-${createHash('sha256').update(script).digest('base64')}'`,
  )
  return [
    "default-src 'none'",
    `script-src 'self' ${scripts.join(' ')}`,
    "style-src 'self'",
    "style-src-attr 'unsafe-inline'",
    "img-src 'self' data:",
    "form-action 'none'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

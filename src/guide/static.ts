import { existsSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import fastifyStatic from '@fastify/static'
import type { Server } from '../http/server.ts'
import { AppError } from '../lib/errors.ts'

/** Its pages may only load their own files. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** The guide at `/guide/`: the pages that `npm run guide` builds from docs/. */
export async function registerGuide(app: Server): Promise<void> {
  const folder = findFolder(import.meta.dirname)
  if (folder === null) {
    app.log.warn('the guide has not been built, so it is not served: npm run guide')
    return
  }
  const names = new Set(readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.includes('.')))
  await app.register(async (scoped) => {
    await scoped.register(fastifyStatic, { root: folder, serve: false, cacheControl: false })
    const route = { config: { access: { public: true } }, schema: { hide: true } } as const
    scoped.get('/guide', route, async (_, reply) => reply.redirect('guide/'))
    scoped.get<{ Params: { '*': string } }>('/guide/*', route, async (request, reply) => {
      const name = request.params['*'] || 'index.html'
      if (!names.has(name))
        throw new AppError('not_found', { detail: 'The guide has no such page. It begins at /guide/.' })
      return await reply
        .header('content-security-policy', policy)
        .header('cache-control', 'no-cache')
        .sendFile(name, folder)
    })
  })
}

/** Where it was built: above the sources or the compiled files. */
function findFolder(from: string): string | null {
  const folder = join(from, 'dist/guide')
  if (existsSync(join(folder, 'index.html'))) return folder
  return dirname(from) === from ? null : findFolder(dirname(from))
}

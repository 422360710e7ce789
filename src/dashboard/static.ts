import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import fastifyStatic from '@fastify/static'
import type { FastifyReply } from 'fastify'
import type { Server } from '../http/server.ts'
import { AppError } from '../lib/errors.ts'

/**
 * The page may load its own scripts, call its own server and show inline images. The component library sets styles
 * from script.
 */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self'",
  "manifest-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

/**
 * The dashboard's page: files whose names contain a hash of their content, icons and a manifest, and one page for every
 * other address.
 */
export async function registerDashboardPage(app: Server): Promise<void> {
  const folder = findFolder(import.meta.dirname)
  if (folder === null) {
    app.log.warn('the dashboard has not been built, so it is not served: npm run build')
    return
  }
  await app.register(async (scoped) => {
    scoped.addHook('onRoute', (route) => {
      route.config = { ...route.config, access: { public: true } }
      route.schema = { ...route.schema, hide: true }
    })
    await scoped.register(fastifyStatic, {
      root: join(folder, 'assets'),
      prefix: '/dashboard/assets/',
      preCompressed: true,
      index: false,
      maxAge: '365d',
      immutable: true,
    })
    const send = async (reply: FastifyReply, file: string) =>
      await reply
        .header('content-security-policy', policy)
        .header('cache-control', 'no-cache')
        .sendFile(file, folder, { cacheControl: false })
    for (const file of ['icon.svg', 'icon-192.png', 'icon-512.png', 'app.webmanifest'])
      scoped.get(`/dashboard/${file}`, async (_, reply) => await send(reply, file))
    scoped.get('/dashboard', async (_, reply) => await send(reply, 'index.html'))
    scoped.get('/dashboard/*', async (request, reply) => {
      // An unknown address of the API is no screen.
      if (request.url.startsWith('/dashboard/api/')) throw new AppError('not_found')
      return await send(reply, 'index.html')
    })
  })
}

/** Beside the sources, or beside the compiled files. */
function findFolder(from: string): string | null {
  const folder = join(from, 'dashboard/dist')
  if (existsSync(join(folder, 'index.html'))) return folder
  return dirname(from) === from ? null : findFolder(dirname(from))
}

import { deepStrictEqual } from 'node:assert'
import { subscribe } from 'node:diagnostics_channel'
import type { Server } from '../../src/http/server.ts'

/**
 * Fails responses of the dashboard's API that lose fields in the schema of their route: Fastify leaves out a field that
 * the schema does not name, and reports nothing.
 */
subscribe('fastify.initialization', (message) => {
  const { fastify: app } = message as { fastify: Server }
  app.addHook('onRoute', (route) => {
    if (!route.url.startsWith('/dashboard/api/')) return
    route.serializerCompiler = (answer) => {
      const serialize = app.serializerCompiler?.(answer)
      return (data) => {
        const text = serialize?.(data) ?? JSON.stringify(data)
        try {
          deepStrictEqual(JSON.parse(text), JSON.parse(JSON.stringify(data)))
        } catch (error) {
          process.stderr.write(`${route.method} ${route.url}: its schema changes the answer:\n${error}\n`)
          throw error
        }
        return text
      }
    }
  })
})

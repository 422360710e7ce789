import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import buildSerializers from '@fastify/fast-json-stringify-compiler'
import type { FastifySchema, RouteOptions } from 'fastify'
import { expect, it } from 'vitest'
import { createValidator } from '../../src/http/validate.ts'
import { describeApi } from '../../src/openapi.ts'

type Starting = {
  fastify: { addHook(name: 'onRoute', hook: (route: RouteOptions) => void): void; getSchemas(): object }
}

const { routes, schemas } = await collectRoutes()
const compileValidator = createValidator({ checkWebhookUrl: () => null })
const compileSerializer = buildSerializers()(schemas)

// The service compiles a route's schemas on its first request. This test compiles those of all routes.
it.each(routes)('the schemas of $method $url can be compiled', ({ method, url, schema }) => {
  for (const httpPart of ['body', 'querystring', 'params', 'headers'] as const) {
    const part = schema[httpPart]
    if (part) expect(compileValidator({ schema: part, httpPart })).toBeTypeOf('function')
  }
  for (const [httpStatus, answer] of Object.entries(schema.response ?? {})) {
    const contents = 'content' in answer ? Object.values(answer.content as Record<string, { schema: object }>) : []
    for (const one of contents.length > 0 ? contents.map(({ schema }) => schema) : [answer])
      expect(compileSerializer({ schema: one, method, url, httpStatus })).toBeTypeOf('function')
  }
})

async function collectRoutes() {
  const routes: { method: string; url: string; schema: FastifySchema & { response?: Record<string, object> } }[] = []
  let schemas = {}
  const listen = (message: unknown) => {
    const { fastify } = message as Starting
    fastify.addHook('onRoute', ({ method, url, schema }) => {
      schemas = fastify.getSchemas()
      if (schema) routes.push({ method: String(method), url, schema: schema as (typeof routes)[number]['schema'] })
    })
  }
  subscribe('fastify.initialization', listen)
  await describeApi().finally(() => unsubscribe('fastify.initialization', listen))
  return { routes, schemas }
}

import buildSerializers from '@fastify/fast-json-stringify-compiler'
import type { FastifyServerOptions } from 'fastify'

/** The functions that compile the schemas of a Fastify server's routes. */
export type Compilers = NonNullable<NonNullable<FastifyServerOptions['schemaController']>['compilersFactory']>
type Part = { schema: object; httpPart?: string }
type Answer = { schema: object; method: string; url: string; httpStatus?: string }
type Run<Result> = (data: unknown) => Result

/**
 * Compiles a route's validator and serializer at its first request. Compiling all at startup would take about a fifth
 * of the startup time and megabytes for hundreds of routes, most of which are never called. A test compiles them all,
 * so that a schema that cannot be compiled is found before a request finds it. Without these, Fastify loads two
 * validators of its own.
 */
export function compileAtFirstUse(createValidator: () => (part: Part) => Run<object>): Compilers {
  const shared = {}
  const compileValidator = atFirstUse(createValidator)
  const compileSerializer = atFirstUse(() => buildSerializers()(shared))
  const toValidator = (part: Part) => {
    const validate = atFirstUse(() => compileValidator()(part))
    return (data: unknown) => validate()(data)
  }
  const toSerializer = (answer: Answer) => {
    const serialize = atFirstUse(() => compileSerializer()({ httpStatus: '', ...answer }))
    return (data: unknown) => serialize()(data)
  }
  const compilers = {
    buildValidator: () => toValidator,
    // Fastify calls this once per plugin context, with the schemas added there.
    buildSerializer: (schemas: object) => {
      Object.assign(shared, schemas)
      return toSerializer
    },
  }
  // The types are those of the libraries that Fastify would load; it calls these with parts and answers.
  return compilers as unknown as Compilers
}

function atFirstUse<Made>(make: () => Made): () => Made {
  let made: Made | undefined
  return () => {
    made ??= make()
    return made
  }
}

import buildSerializers from '@fastify/fast-json-stringify-compiler'
import { assert } from '../lib/assert.ts'
import type { Server } from './server.ts'

/**
 * Compiles a route's validator and serializer at its first request. Compiling all at startup would take about a fifth
 * of the startup time and megabytes for hundreds of routes, most of which are never called. A test compiles them all,
 * so that a schema that cannot be compiled is found before a request finds it. Must be called before the routes are
 * registered.
 */
export function compileAtFirstUse(app: Server): void {
  const compileValidator = app.validatorCompiler
  assert(compileValidator, 'the server has a validator')
  const compileSerializer = atFirstUse(() => buildSerializers()(app.getSchemas()))
  app.setValidatorCompiler((part) => {
    const validate = atFirstUse(() => compileValidator(part))
    return (data) => validate()(data)
  })
  app.setSerializerCompiler((answer) => {
    const serialize = atFirstUse(() => compileSerializer()({ httpStatus: '', ...answer }))
    return (data) => serialize()(data)
  })
}

function atFirstUse<Made>(make: () => Made): () => Made {
  let made: Made | undefined
  return () => {
    made ??= make()
    return made
  }
}

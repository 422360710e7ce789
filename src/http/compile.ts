import buildSerializers from '@fastify/fast-json-stringify-compiler'
import { assert } from '../lib/assert.ts'
import type { Server } from './server.ts'

/**
 * Makes the code that checks a route's requests and writes its answers when the route is first asked. All at the start is a fifth of it,
 * and megabytes for hundreds of routes of which most are never asked. A test makes them all, so that a schema that cannot be compiled
 * does not wait for a request. Must be called before the routes are registered.
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

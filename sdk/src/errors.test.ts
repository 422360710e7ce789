import { expect, it } from 'vitest'
import { GuicheError, ServerError, toError, ValidationError } from './errors.ts'

const read = (code: string, status: number) =>
  toError({ status, headers: new Headers(), body: JSON.stringify({ code, detail: 'No.' }), idempotencyKey: undefined })

it('is of the class of its code, or else of its status', () => {
  expect(read('validation_failed', 422)).toBeInstanceOf(ValidationError)
  expect(read('overloaded', 503)).toBeInstanceOf(ServerError)
})

it.each(['constructor', 'toString', '__proto__', 'hasOwnProperty'])(
  'is an error when a proxy sends the code %s',
  (code) => {
    expect(read(code, 502)).toBeInstanceOf(ServerError)
    const error = read(code, 400)
    expect(error).toBeInstanceOf(GuicheError)
    expect(error).toMatchObject({ code, status: 400, detail: 'No.' })
  },
)

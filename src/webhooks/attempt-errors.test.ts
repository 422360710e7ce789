import { expect, it } from 'vitest'
import { attemptErrors, describeFailure, describeStatus, toAttemptErrorCode } from './attempt-errors.ts'

const failure = (code: string) => describeFailure(Object.assign(new Error(code), { code }))

it('distinguishes a self-signed certificate from one of an authority that is not trusted', () => {
  expect(toAttemptErrorCode(failure('DEPTH_ZERO_SELF_SIGNED_CERT'))).toBe('certificate_self_signed')
  expect(toAttemptErrorCode(failure('SELF_SIGNED_CERT_IN_CHAIN'))).toBe('certificate_untrusted')
})

it('names the code of an unknown failure', () => {
  expect(failure('ERR_SSL_SOMETHING')).toBe('The connection failed (ERR_SSL_SOMETHING)')
  expect(toAttemptErrorCode(failure('ERR_SSL_SOMETHING'))).toBeNull()
})

it('names only statuses with an address to follow a redirect', () => {
  expect([301, 302, 303, 307, 308].map(describeStatus)).toEqual(Array(5).fill(attemptErrors.redirected))
  expect(describeStatus(304)).toBe('The receiver answered 304')
  expect(describeStatus(204)).toBeNull()
})

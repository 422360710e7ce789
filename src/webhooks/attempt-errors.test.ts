import { expect, it } from 'vitest'
import { attemptErrors, describeFailure, describeStatus, isTimeout, toAttemptErrorCode } from './attempt-errors.ts'

const failure = (code: string) => describeFailure(Object.assign(new Error(code), { code }))

it('distinguishes a self-signed certificate from one of an authority that is not trusted', () => {
  expect(toAttemptErrorCode(failure('DEPTH_ZERO_SELF_SIGNED_CERT'))).toBe('certificate_self_signed')
  for (const code of ['SELF_SIGNED_CERT_IN_CHAIN', 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'UNABLE_TO_GET_ISSUER_CERT'])
    expect(toAttemptErrorCode(failure(code)), code).toBe('certificate_untrusted')
})

it('names the code of an unknown failure', () => {
  expect(failure('ERR_SSL_SOMETHING')).toBe('The connection failed (ERR_SSL_SOMETHING)')
  expect(toAttemptErrorCode(failure('ERR_SSL_SOMETHING'))).toBeNull()
})

it('counts an answer, a connection and a DNS server that took too long as time-outs, and no other failure', () => {
  expect(isTimeout(attemptErrors.no_answer)).toBe(true)
  expect(['UND_ERR_CONNECT_TIMEOUT', 'ETIMEDOUT', 'ETIMEOUT'].map(failure).map(isTimeout)).toEqual([true, true, true])
  expect(['ECONNREFUSED', 'ECONNRESET', 'ENOTFOUND', 'ERR_OTHER'].map(failure).some(isTimeout)).toBe(false)
  expect([describeStatus(504), describeStatus(204)].some(isTimeout)).toBe(false)
})

it('names only statuses with an address to follow a redirect', () => {
  expect([301, 302, 303, 307, 308].map(describeStatus)).toEqual(Array(5).fill(attemptErrors.redirected))
  expect(describeStatus(304)).toBe('The receiver answered 304')
  expect(describeStatus(204)).toBeNull()
})

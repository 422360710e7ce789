import { expect, it } from 'vitest'
import { newSecretKey, parseSecretKey } from '../lib/secrets.ts'
import { callbackPath, isCallbackSecret } from './path.ts'

const key = parseSecretKey(newSecretKey())
if (!key) throw new Error('no key')
const secretOf = (name: string, version?: number) =>
  callbackPath(key, name, version === undefined ? {} : { version })
    .split('/')
    .at(-1) ?? ''
const accepts = (version: number, acceptPrevious: boolean, secret: string) =>
  isCallbackSecret(key, { name: 'psp', callbacks: { version, acceptPrevious } }, secret)

it('gives every acquirer and version its own address', () => {
  const secrets = [secretOf('psp'), secretOf('psp', 2), secretOf('psp', 3), secretOf('psp2'), secretOf('psp-2')]
  expect(new Set(secrets).size).toBe(5)
  expect(secretOf('psp', 1)).toBe(secretOf('psp'))
  for (const secret of secrets) expect(secret).toMatch(/^[\w-]{43}$/)
})

it('names the cell, and is the same address without it', () => {
  const path = callbackPath(key, 'psp', { cell: 'ab' })
  expect(path).toBe(`/callbacks/psp/ab.${secretOf('psp')}`)
  expect(accepts(1, false, path.split('/').at(-1) ?? '')).toBe(true)
  expect(accepts(1, false, `ab.${secretOf('psp2')}`)).toBe(false)
})

it('accepts the address of the current version, and of the previous one only if configured', () => {
  expect(accepts(3, false, secretOf('psp', 3))).toBe(true)
  expect(accepts(3, false, secretOf('psp', 2))).toBe(false)
  expect(accepts(3, true, secretOf('psp', 2))).toBe(true)
  expect(accepts(3, true, secretOf('psp', 1))).toBe(false)
  expect(accepts(1, true, secretOf('psp', 0))).toBe(false)
  expect(accepts(1, true, secretOf('psp2'))).toBe(false)
})

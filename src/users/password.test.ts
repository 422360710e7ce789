import { expect, it } from 'vitest'
import { hashPassword, isPassword, nobodysHash } from './password.ts'

it('knows a password by its hash', async () => {
  const hash = await hashPassword('a long way home')
  expect(await isPassword(hash, 'a long way home')).toBe(true)
  expect(await isPassword(hash, 'a long way Home')).toBe(false)
})

it('refuses whoever is unknown, with a hash that costs as much as any', async () => {
  expect(await isPassword(null, 'a long way home')).toBe(false)
  const toCost = (hash: string) => hash.split('$').slice(0, -2).join('$')
  const toSizes = (hash: string) => hash.split('$').map(({ length }) => length)
  const hash = await hashPassword('a long way home')
  expect(toCost(nobodysHash)).toBe(toCost(hash))
  expect(toSizes(nobodysHash)).toEqual(toSizes(hash))
})

import { expect, it } from 'vitest'
import { findPasswordFault, hashPassword, isPassword, nobodysHash } from './password.ts'

it('verifies a password by its hash', async () => {
  const hash = await hashPassword('a long way home')
  expect(await isPassword(hash, 'a long way home')).toBe(true)
  expect(await isPassword(hash, 'a long way Home')).toBe(false)
})

it('refuses an unknown user in the same time as a wrong password', async () => {
  expect(await isPassword(null, 'a long way home')).toBe(false)
  const toCost = (hash: string) => hash.split('$').slice(0, -2).join('$')
  const toSizes = (hash: string) => hash.split('$').map(({ length }) => length)
  const hash = await hashPassword('a long way home')
  expect(toCost(nobodysHash)).toBe(toCost(hash))
  expect(toSizes(nobodysHash)).toEqual(toSizes(hash))
})

const person = { email: 'pedro.alves@example.com', own: ['Pedro Alves', 'Padaria Pinheiro'] }

it('refuses a password that is too short or too long, and names the limit', () => {
  const words = 'o gato subiu no telhado, e ninguém viu. '.repeat(7)
  expect(findPasswordFault(words.slice(0, 11), person)).toMatchObject({ code: 'length', limit: 12 })
  expect(findPasswordFault(words.slice(0, 257), person)).toMatchObject({ code: 'length', limit: 256 })
})

it.each([
  'password1234',
  '123456789012',
  'qwertyuiop12',
  'senha1234567',
  'admin1234567',
  'guiche123456',
  'Guiche2026!!',
  'iloveyou1234',
  'mudar1234567',
  'abcdabcdabcde',
  'aaaaaaaaaaaa',
  'abcabcabcabc',
  'P@ssw0rd2026',
  'padaria-2026!',
  'Pinheiro1234!',
  'pedro.alves-and-more-of-it',
  '1qaz2wsx3edc',
  'asdfghjklasdfghjkl',
  'Mailcreated5240',
  'ghhh47hj7649',
  'POLNIYPIZDEC0211',
])('refuses %s, which is guessed first', (password) => {
  expect(findPasswordFault(password, person)).toMatchObject({ code: 'too_easy' })
})

it.each([
  'correct horse battery staple',
  'correcthorsebatterystaple',
  'a long way home',
  'another good password',
  'o gato subiu no telhado',
  'kX9#vLq2mZ!t',
  'Tr7wQpz4Lmab',
])('accepts %s', (password) => {
  expect(findPasswordFault(password, person)).toBeNull()
})

it('refuses the name of the merchant, however long it is', () => {
  const own = ['Hipermercadobompreçodepiracicaba']
  expect(findPasswordFault('Hipermercadobompreçodepiracicaba12', { ...person, own })).toMatchObject({
    code: 'too_easy',
  })
})

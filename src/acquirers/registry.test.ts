import { expect, it } from 'vitest'
import { receiverAccount } from '../../simulator/receiver-account.ts'
import { createBacenAcquirer } from './bacen/adapter.ts'
import { createRegistry } from './registry.ts'

const acquirer = (name: string) =>
  createBacenAcquirer({
    name,
    send: async () => ({ status: 503, headers: {}, body: '' }),
    credentials: { clientId: '', clientSecret: '' },
    chave: '',
    receiver: receiverAccount,
    isRemote: true,
  })

it('knows the current acquirer and every other by name', () => {
  const [first, second] = [acquirer('first'), acquirer('second')]
  const acquirers = createRegistry([first, second], 'second')
  expect(acquirers.current).toBe(second)
  expect(acquirers.get('first')).toBe(first)
  expect(acquirers.get('third')).toBeUndefined()
})

it('is not made without the current one, nor with two of one name', () => {
  expect(() => createRegistry([acquirer('first')], 'second')).toThrow()
  expect(() => createRegistry([acquirer('first'), acquirer('first')], 'first')).toThrow()
})

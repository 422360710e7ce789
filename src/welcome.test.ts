import { expect, it } from 'vitest'
import { welcome } from './welcome.ts'

const newSandbox = { baseUrl: 'http://x', clientId: 'gc_1', clientSecret: 'the-secret', webhookSecret: 'whsec_1' }
const service = {
  baseUrl: 'https://pix.example.com',
  acquirers: ['simulator'],
  isSimulated: true,
  newSandbox,
  firstAdminUrl: 'https://pix.example.com/dashboard/welcome/the-token',
}
const secrets = /the-token|the-secret|whsec_1/

it.each([
  ['on a laptop', { isPublic: false, isTerminal: false }],
  ['at a terminal', { isPublic: true, isTerminal: true }],
])('shows secrets once %s', (_, place) => {
  const text = welcome(service, { dataDir: '/data', ...place })
  expect(text.match(new RegExp(secrets, 'g'))).toHaveLength(3)
})

it('writes no link and no secret into the log of a public service, and says where they are', () => {
  const text = welcome(service, { dataDir: '/data', isPublic: true, isTerminal: false })
  expect(text).not.toMatch(secrets)
  expect(text).toContain('First admin     npx guiche user invite --email <address> --role admin')
  expect(text).toContain('Sandbox client  in /data/sandbox.json')
})

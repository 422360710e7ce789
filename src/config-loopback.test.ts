import { describe, expect, it } from 'vitest'
import { isLoopback, readConfig } from './config.ts'

describe('WEBHOOK_ALLOW_PRIVATE', () => {
  const allowed = (environment: Record<string, string>) => readConfig(environment).webhookAllowPrivate

  it('is true by default with the simulator on a loopback address', () => {
    for (const HOST of ['', '127.0.0.1', 'localhost', '::1', '127.8.9.10']) expect(allowed({ HOST }), HOST).toBe(true)
    expect(allowed({ ACQUIRERS_FILE: 'acquirers.json' })).toBe(false)
    for (const HOST of ['0.0.0.0', '::', '192.168.1.5', 'pix.example.com', '127.example.com', '1.127.0.0'])
      expect(allowed({ HOST }), HOST).toBe(false)
    for (const BASE_URL of ['http://127.0.0.1:8080', 'http://localhost', 'http://[::1]:80'])
      expect(allowed({ BASE_URL }), BASE_URL).toBe(true)
  })

  it('is false by default behind a proxy, where a loopback HOST proves nothing', () => {
    expect(allowed({ BASE_URL: 'https://sandbox.example.com' })).toBe(false)
    expect(allowed({ TRUST_PROXY: '127.0.0.1' })).toBe(false)
  })

  it('can be set explicitly', () => {
    expect(allowed({ HOST: '0.0.0.0', WEBHOOK_ALLOW_PRIVATE: 'true' })).toBe(true)
    expect(allowed({ HOST: '127.0.0.1', WEBHOOK_ALLOW_PRIVATE: 'false' })).toBe(false)
  })
})

it('distinguishes a loopback address from one that only looks like it', () => {
  for (const host of ['localhost', '127.0.0.1', '127.255.255.254', '::1']) expect(isLoopback(host)).toBe(true)
  for (const host of ['localhost.example.com', '127.0.0.1.example.com', '::2', '10.0.0.1', ''])
    expect(isLoopback(host)).toBe(false)
})

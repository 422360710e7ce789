import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { startNats } from './brokers.ts'

it('fails when a broker ends before it accepts connections', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'guiche-brokers-'))
  try {
    await writeFile(join(folder, 'nats-server'), '#!/bin/sh\nexit 1\n', { mode: 0o755 })
    vi.stubEnv('PATH', `${folder}:${process.env.PATH}`)
    await expect(startNats()).rejects.toThrow('nats-server ended before it accepted connections')
  } finally {
    vi.unstubAllEnvs()
    await rm(folder, { recursive: true })
  }
}, 10_000)

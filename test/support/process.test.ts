import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { exists } from '../../src/db/embedded-process.ts'
import { makeDataDir, startAndStop, startServiceProcess } from './process.ts'

let folder: Awaited<ReturnType<typeof makeDataDir>>
beforeAll(async () => {
  folder = await makeDataDir()
})
afterAll(async () => await folder.remove())

const command = (script: string) => ({ dataDir: folder.dataDir, port: 0, command: ['-e', script] })

it('leaves no process of a start that takes too long', async () => {
  const script = "require('node:fs').writeFileSync('pid', String(process.pid)); setInterval(() => {}, 1_000)"
  const started = startServiceProcess({ ...command(script), startMaxMs: 5_000 })
  await expect(started).rejects.toThrow('It did not start in time: ')
  const pid = Number(readFileSync(join(folder.dataDir, 'pid'), 'utf8'))
  expect(exists(pid)).toBe(false)
})

it('says which signal ended a start', async () => {
  await expect(startServiceProcess(command("process.kill(process.pid, 'SIGKILL')"))).rejects.toThrow(
    'It ended with SIGKILL: ',
  )
})

it('waits for the database of no process that a signal has ended', async () => {
  expect(await startAndStop(command("process.kill(process.pid, 'SIGKILL')"))).toEqual({ code: null, said: '' })
})

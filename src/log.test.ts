import { spawn } from 'node:child_process'
import { closeSync, existsSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, it } from 'vitest'

type Options = {
  isRead: boolean
  /** Instead of a pipe. */
  file?: string
  format?: 'json' | 'pretty'
}

/** Runs a script that logs in a child process, whose standard output is read or not. */
async function run(
  script: string,
  { isRead, file, format = 'json' }: Options,
): Promise<{ code: number | null; output: string }> {
  const log = `import { createLog } from ${JSON.stringify(join(inject('build'), 'src/log.js'))}
    const log = createLog({ logLevel: 'info', logFormat: '${format}' })`
  const fd = file === undefined ? 'pipe' : openSync(file, 'a')
  const child = spawn(process.execPath, ['--input-type=module', '--eval', `${log}\n${script}`], {
    stdio: ['ignore', fd, 'inherit'],
    timeout: 60_000,
    killSignal: 'SIGKILL',
  })
  if (typeof fd === 'number') closeSync(fd)
  let output = ''
  if (isRead) child.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()))
  else child.stdout?.destroy()
  return await new Promise((resolve) => child.once('close', (code) => resolve({ code, output })))
}

const wait = `await new Promise((resolve) => setTimeout(resolve, 300))`

it('writes every line, including those buffered when the process ends', async () => {
  const { code, output } = await run(`for (let i = 0; i < 100; i++) log.info({ i }, 'a line'); process.exit(3)`, {
    isRead: true,
  })
  const lines = output.trim().split('\n')
  expect(code).toBe(3)
  expect(lines.map((line) => JSON.parse(line).i)).toEqual(Array.from({ length: 100 }, (_, i) => i))
})

it('writes warnings and errors at once, with all earlier lines', async () => {
  const { output } = await run(`log.info('before'); log.warn('wrong'); process.kill(process.pid, 'SIGKILL')`, {
    isRead: true,
  })
  expect(
    output
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).msg),
  ).toEqual(['before', 'wrong'])
})

it('writes readable lines for a person, at once', async () => {
  const { output } = await run(`log.info({ i: 1 }, 'a line'); process.kill(process.pid, 'SIGKILL')`, {
    isRead: true,
    format: 'pretty',
  })
  expect(output).toMatch(/^\[\d\d:\d\d:\d\d\.\d{3}\] INFO: a line \{"i":1\}\n$/)
})

it.each([
  ['a warning', `${wait}; log.warn('wrong'); ${wait}; process.exit(4)`],
  ['a line and the end', `${wait}; log.info('a line'); process.exit(4)`],
  ['lines for a while', `for (let i = 0; i < 5; i++) { log.info('x'.repeat(5000)); ${wait} } process.exit(4)`],
])('continues when the reader has gone: %s', async (_name, script) => {
  expect((await run(script, { isRead: false })).code).toBe(4)
})

it.runIf(existsSync('/dev/full'))('continues when the disk of its file is full, and keeps a limited part', async () => {
  const lines = `const line = 'x'.repeat(5000)
    const before = process.memoryUsage().rss
    for (let i = 0; i < 40_000; i++) log.info({ i }, line)
    if (process.memoryUsage().rss - before > 150_000_000) process.exit(5)
    log.warn('wrong'); ${wait}; log.fatal('worse'); process.exit(4)`
  expect((await run(lines, { isRead: false, file: '/dev/full' })).code).toBe(4)
})

it.each(['json', 'pretty'] as const)('writes all lines when a full disk has space again: %s', async (format) => {
  const script = `import fs from 'node:fs'
    const { writeSync } = fs
    fs.writeSync = () => { throw Object.assign(new Error('no space'), { code: 'ENOSPC' }) }
    log.info('one'); ${wait}; log.warn('two'); ${wait}; log.fatal('three'); ${wait}
    fs.writeSync = writeSync
    log.info('four'); ${wait}; process.exit(4)`
  const { code, output } = await run(script, { isRead: true, format })
  expect(code).toBe(4)
  expect(output.match(/one|two|three|four/g)).toEqual(['one', 'two', 'three', 'four'])
})

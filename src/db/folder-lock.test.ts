import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type FolderLock, type LockHolder, lockFolder } from './folder-lock.ts'

/** No process has this id: it is above the highest one. */
const ended = 999_999_999

let folder: string
let path: string
let locks: FolderLock[]
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'guiche-lock-'))
  path = join(folder, 'postgres.lock')
  locks = []
})
afterEach(async () => {
  for (const lock of locks) lock.release()
  await rm(folder, { recursive: true })
})

async function hold(holder: LockHolder): Promise<FolderLock> {
  const lock = await lockFolder(path, holder)
  if (!('held' in lock)) throw new Error('another process holds the lock')
  expect(lock.held).toBe(true)
  locks.push(lock)
  return lock
}

function release(lock: FolderLock): void {
  locks = locks.filter((one) => one !== lock)
  lock.release()
}

describe('a locked folder', () => {
  it.each(['service', 'command'] as const)('names the process of its holder, a %s', async (holder) => {
    await hold(holder)
    expect(await lockFolder(path)).toEqual({
      lockedBy: `process ${process.pid}`,
      isCommand: holder === 'command',
    })
  })

  it.each(['', `${ended}\n`])('names the new holder, not the former one that left the line %j', async (former) => {
    await hold('command')
    const line = await readFile(path, 'utf8')
    await writeFile(path, former)
    const reading = lockFolder(path)
    await sleep(300)
    await writeFile(path, line)
    expect(await reading).toEqual({ lockedBy: `process ${process.pid}`, isCommand: true })
  })

  it('is taken if it is released while its holder is not known', async () => {
    const first = await hold('service')
    await writeFile(path, `${ended}\n`)
    const second = hold('service')
    await sleep(300)
    release(first)
    await second
    expect(await readFile(path, 'utf8')).toBe(`${process.pid}\n`)
  })

  it('gives the line as it is if its process never seems to run, as one in another container', async () => {
    await hold('command')
    await writeFile(path, `${ended} command\n`)
    expect(await lockFolder(path)).toEqual({ lockedBy: `process ${ended}`, isCommand: true })
  })

  it('names nobody after its release', async () => {
    release(await hold('service'))
    expect(await readFile(path, 'utf8')).toBe('')
  })
})

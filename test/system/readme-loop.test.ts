import { spawn, spawnSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { afterEach, expect, inject, it } from 'vitest'
import { findFreePort, makeDataDir, startServiceProcess } from '../support/process.ts'
import { eventually } from '../support/webhooks.ts'

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

const hasTools = ['bash', 'curl', 'sed', 'base64'].every((tool) => spawnSync('which', [tool]).status === 0)

it.runIf(hasTools)('does what the sixty-second loop of the README says, pasted whole and twice', async () => {
  const { dataDir: folder, remove } = await makeDataDir()
  cleanups.push(remove)
  const service = await startServiceProcess({
    dataDir: join(folder, 'data'),
    // Like `PORT=…` in front of `npm start`: the loop finds the address itself.
    port: await findFreePort(),
    cwd: folder,
  })
  cleanups.push(async () => {
    service.signal('SIGTERM')
    await service.ended
  })
  const table = service.said.join('\n')
  expect(table).toContain(`Dashboard       ${service.baseUrl}/dashboard/`)
  expect(table).toContain(`First admin     ${service.baseUrl}/dashboard/welcome/`)
  expect(table).toContain(`shown once, kept in ${join(folder, 'data')}/sandbox.json`)
  expect(service.lines.filter(({ msg }) => /migration|up to date/.test(msg))).toHaveLength(1)

  const blocks = await readBlocks({ receiverPort: await findFreePort() })
  expect(blocks.length).toBeGreaterThanOrEqual(5)

  const shell = openShell(folder)
  const paid = () => shell.said().match(/^PAID$/gm)?.length ?? 0
  const delivered = () => shell.said().match(/^transaction\.paid .*signature valid$/gm)?.length ?? 0
  shell.type(blocks.join('\n'))
  await eventually(() => paid() === 1 && delivered() === 1, shell.said)
  const first = shell.said()
  expect(first).toMatch(/^00020101\S+.*6304[0-9A-F]{4}$/m)
  expect(first).toMatch(/^\{"endToEndId":"E\w{31}"\}/m)
  expect(first).toMatch(/^transaction\.pix_qrcode_generated {2}PIX_QRCODE_GENERATED {2}R\$ 25,90 {2}signature valid$/m)
  expect(first).toMatch(/transaction\.paid {2}PAID {2}R\$ 25,90 {2}signature valid$/m)
  expect(first).not.toMatch(/REFUSED|rror|not found/)
  expect(await readFile(join(folder, 'qrcode.png'))).toMatchObject({ 1: 0x50, 2: 0x4e, 3: 0x47 })

  shell.type(blocks.join('\n'))
  const isInUse = () => shell.said().includes('If an earlier receiver still runs there, use that one')
  await eventually(() => paid() === 2 && delivered() === 2 && isInUse(), shell.said)
  const second = shell.said().slice(first.length)
  expect(second).toMatch(/^\{"endToEndId":"E\w{31}"\}/m)
  expect(second).not.toMatch(/REFUSED|rror|not found|already paid/)

  shell.type(`BASE=http://127.0.0.1:${await findFreePort()}; curl -sS $BASE/transaction | field id; echo "ended $?"`)
  await eventually(() => shell.said().includes('ended 1'), shell.said)
  expect(shell.said()).toContain('curl: (7)')
  expect(shell.said()).toContain('no JSON: is BASE right?')
  await shell.close()
  service.signal('SIGTERM')
  await eventually(() => service.lines.at(-1)?.msg === 'stopped')
})

/** The commands of the README's sixty-second loop, with a receiver at this port. */
async function readBlocks({ receiverPort }: { receiverPort: number }): Promise<string[]> {
  const readme = await readFile(resolve('README.md'), 'utf8')
  const section = /^## The sixty-second loop$(.*?)^## /ms.exec(readme)?.[1] ?? ''
  const command = `exec node ${inject('build')}/src/cli/main.js`
  return [...section.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = '']) =>
    block
      .replaceAll('127.0.0.1:4000', `127.0.0.1:${receiverPort}`)
      .replaceAll('npx guiche receiver', `${command} receiver --port ${receiverPort}`),
  )
}

function openShell(folder: string) {
  const shell = spawn('bash', [], {
    cwd: folder,
    env: { PATH: `${dirname(process.execPath)}:${process.env.PATH}` },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const ended = new Promise((done) => shell.once('close', done))
  let text = ''
  for (const stream of [shell.stdout, shell.stderr])
    stream.on('data', (chunk) => {
      text += String(chunk)
    })
  return {
    type: (commands: string) => shell.stdin.write(`${commands}\n`),
    said: () => text,
    async close() {
      // The receiver runs in the background, and would outlive the shell.
      shell.stdin.end('kill $(jobs -p)\n')
      await ended
    },
  }
}

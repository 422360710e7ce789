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

it.runIf(hasTools)(
  'does what the sixty-second loop of the README says',
  async () => {
    const { dataDir: folder, remove } = await makeDataDir()
    cleanups.push(remove)
    const service = await startServiceProcess({
      dataDir: join(folder, 'data'),
      port: await findFreePort(),
      cwd: folder,
    })
    cleanups.push(async () => {
      service.signal('SIGTERM')
      await service.ended
    })
    const blocks = await readBlocks({ baseUrl: service.baseUrl, receiverPort: await findFreePort() })
    expect(blocks.length).toBeGreaterThanOrEqual(5)

    const shell = openShell(folder)
    const [receiver, ...steps] = blocks
    shell.type(receiver ?? '')
    await eventually(() => shell.said().includes('Listening at'), shell.said)
    for (const step of steps) shell.type(step)
    await eventually(() => /^PAID$/m.test(shell.said()), shell.said)
    await eventually(() => /transaction\.paid .*signature valid$/m.test(shell.said()), shell.said)
    await shell.close()

    const said = shell.said()
    expect(said).toMatch(/^00020101\S+.*6304[0-9A-F]{4}$/m)
    expect(said).toMatch(/^\{"endToEndId":"E\w{31}"\}/m)
    expect(said).toMatch(/^transaction\.pix_qrcode_generated {2}PIX_QRCODE_GENERATED {2}R\$ 25,90 {2}signature valid$/m)
    expect(said).toMatch(/transaction\.paid {2}PAID {2}R\$ 25,90 {2}signature valid$/m)
    expect(said).not.toMatch(/REFUSED|rror|not found/)
    expect(await readFile(join(folder, 'qrcode.png'))).toMatchObject({ 1: 0x50, 2: 0x4e, 3: 0x47 })
  },
  60_000,
)

/** The commands of that section, at this test's addresses instead of the usual ones. */
async function readBlocks({ baseUrl, receiverPort }: { baseUrl: string; receiverPort: number }): Promise<string[]> {
  const readme = await readFile(resolve('README.md'), 'utf8')
  const section = /^## The sixty-second loop$(.*?)^## /ms.exec(readme)?.[1] ?? ''
  const { scripts } = JSON.parse(await readFile(resolve('package.json'), 'utf8')) as { scripts: { receiver: string } }
  const receiver = scripts.receiver.replace('dist', inject('build'))
  return [...section.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = '']) =>
    block
      .replaceAll('http://127.0.0.1:3000', baseUrl)
      .replaceAll('127.0.0.1:4000', `127.0.0.1:${receiverPort}`)
      .replaceAll('npm run --silent receiver', `${receiver} --port ${receiverPort}`),
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
      // The receiver stands in the background, and ends with us.
      shell.stdin.end('kill $(jobs -p)\n')
      await ended
    },
  }
}

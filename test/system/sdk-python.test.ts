import { execFile, spawn } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Guiche } from '../../sdk/src/index.ts'
import { createTestDatabase } from '../support/database.ts'
import { blocksOf } from '../support/documents.ts'
import { untilPaidAgain } from '../support/payments.ts'
import { findFreePort, makeDataDir, startServiceProcess } from '../support/process.ts'
import { findPython } from '../support/python.ts'

const run = promisify(execFile)
const python = findPython('httpx') ?? ''
const mypy = findPython('httpx', 'mypy') ?? ''
const withFastapi = findPython('fastapi', 'httpx', 'uvicorn') ?? ''
const sources = resolve('sdk-python/src')

it('what is generated of the Python SDK is current: `npm run sdk:types` writes it', async () => {
  await run(process.execPath, ['scripts/sdk-python.mjs', '--check'])
})

it('the Python SDK has the version of the service', async () => {
  const { version } = JSON.parse(await readFile('package.json', 'utf8'))
  expect(await readFile('sdk-python/pyproject.toml', 'utf8')).toContain(`\nversion = "${version}"\n`)
  expect(await readFile('sdk-python/src/guiche/_http.py', 'utf8')).toContain(`"guiche-python/${version}"`)
})

describe.skipIf(python === '')('the Python SDK, where Python 3.10 and httpx are installed', () => {
  it('passes its tests, sync and async', async () => {
    const { stderr } = await run(python, ['-m', 'unittest', 'discover', '--start-directory', '.'], {
      cwd: 'sdk-python',
      env: { PATH: process.env.PATH, PYTHONPATH: sources, PYTHONDONTWRITEBYTECODE: '1' },
    })
    expect(stderr).toMatch(/^Ran [4-9]\d tests .*\n\nOK\n$/m)
  })

  it.skipIf(mypy === '')('passes mypy --strict', async () => {
    const cache = await mkdtemp(join(tmpdir(), 'guiche-mypy-'))
    try {
      const { stdout } = await run(mypy, ['-m', 'mypy', '--cache-dir', cache], { cwd: 'sdk-python' })
      expect(stdout).toContain('Success: no issues found')
    } finally {
      await rm(cache, { recursive: true })
    }
  })

  describe('in an empty folder', async () => {
    const samples = ['sdk-python/README.md', 'docs/sdk.md']
      .flatMap(blocksOf)
      .filter(({ language }) => language === 'python')
    const cleanups: (() => Promise<unknown>)[] = []
    let folder: string
    let guiche: Guiche
    let environment: Record<string, string>

    beforeAll(async () => {
      const { dataDir, remove } = await makeDataDir()
      const database = await createTestDatabase()
      cleanups.push(remove, database.drop)
      const service = await startServiceProcess({
        dataDir,
        port: await findFreePort(),
        databaseUrl: database.connectionString,
      })
      cleanups.push(async () => {
        service.signal('SIGTERM')
        await service.ended
      })
      folder = await mkdtemp(join(tmpdir(), 'guiche-python-'))
      cleanups.push(async () => await rm(folder, { recursive: true }))
      const file = await readFile(join(dataDir, 'sandbox.json'), 'utf8')
      const sandbox = JSON.parse(file)
      guiche = new Guiche(sandbox)
      await mkdir(join(folder, 'data'))
      await writeFile(join(folder, 'data/sandbox.json'), file)
      environment = {
        PATH: process.env.PATH ?? '',
        PYTHONPATH: sources,
        PYTHONDONTWRITEBYTECODE: '1',
        GUICHE_URL: sandbox.baseUrl,
        GUICHE_CLIENT_ID: sandbox.clientId,
        GUICHE_CLIENT_SECRET: sandbox.clientSecret,
        GUICHE_WEBHOOK_SECRET: sandbox.webhookSecret,
      }
    })
    afterAll(async () => {
      for (const cleanup of cleanups.reverse()) await cleanup()
    })

    const runProgram = async (name: string, text: string, flags = ['-W', 'error'], ...args: string[]) => {
      await writeFile(join(folder, name), text)
      return await run(python, [...flags, name, ...args], { cwd: folder, env: environment })
    }

    /** Most samples of a document use the client of its first one. */
    const withClient = (text: string) =>
      /\bGuiche\(/.test(text)
        ? text
        : `import os
from guiche import Guiche
with Guiche(
    base_url=os.environ["GUICHE_URL"],
    client_id=os.environ["GUICHE_CLIENT_ID"],
    client_secret=os.environ["GUICHE_CLIENT_SECRET"],
) as guiche:
${text.replaceAll(/^(?=.)/gm, '    ')}`

    it.each(['sync', 'async'])('charges, verifies the webhook, refunds and pays out: %s', async (kind) => {
      const text = await readFile(`sdk-python/tests/_${kind}/shop.py`, 'utf8')
      expect(await runProgram('shop.py', text)).toEqual({
        stdout: 'PAID R$ 25,90\nREFUNDED 590\nPROCESSED R$ 10,00\n',
        stderr: '',
      })
    })

    it.for(samples)('runs unchanged: $document:$line', async ({ document, text }, { skip }) => {
      if (text.includes('FastAPI()')) {
        skip(withFastapi === '', 'FastAPI is not installed')
        return await tryRoute(text)
      }
      // The client of a sample is open until the program ends.
      const { stdout, stderr } = await runProgram('sample.py', withClient(text), ['-W', 'ignore::ResourceWarning'])
      expect(stderr).toBe('')
      if (document !== 'sdk-python/README.md') return
      for (const [, printed] of text.matchAll(/^ *print\(.*\) {2}# (.*)$/gm)) expect(stdout).toContain(`${printed}\n`)
    })

    /** A shop's route, as FastAPI calls it. */
    async function tryRoute(text: string): Promise<void> {
      const call = `
from fastapi.testclient import TestClient
from guiche.testing import create_test_event, sign_webhook

paid = os.environ["GUICHE_WEBHOOK_SECRET"]
for secret, sequence in ((paid, 2), (paid, 4), ("whsec_b2Ygc29tZWJvZHkgZWxzZQ==", 2)):
    event = create_test_event("transaction.paid", {"externalCode": "order-2026-0001", "sequence": sequence})
    webhook = sign_webhook(secret, event)
    print(TestClient(app).post("/webhooks/pix", content=webhook.body, headers=webhook.headers).status_code)
`
      expect((await runProgram('sample.py', text + call, [])).stdout).toBe('ship order-2026-0001 2590\n204\n204\n401\n')
    }

    it.skipIf(withFastapi === '')('leads to a paid order, as docs/pt/python.md says', async () => {
      const blocks = blocksOf('docs/pt/python.md').filter(({ language }) => language === 'python')
      const [pay = '', shop = '', order = '', refund = '', failing = ''] = blocks.map(({ text }) => text)
      await writeFile(join(folder, 'sandbox.json'), await readFile(join(folder, 'data/sandbox.json')))
      expect((await runProgram('pagar.py', pay)).stdout).toMatch(/^000201.*\nPAID R\$ 25,90\n$/)

      await writeFile(join(folder, 'loja.py'), shop)
      const port = await findFreePort()
      const server = spawn(withFastapi, ['-m', 'uvicorn', 'loja:app', '--port', String(port)], {
        cwd: folder,
        env: environment,
      })
      const ended = new Promise((done) => server.once('exit', done))
      let said = ''
      try {
        server.stdout.on('data', (data) => {
          said += data
        })
        const url = `http://127.0.0.1:${port}/webhooks/pix`
        await expect.poll(async () => (await fetch(url).catch(() => null))?.status).toBe(405)
        const program = order.replace('http://127.0.0.1:8000/webhooks/pix', url)
        const id = (await runProgram('pedido.py', program, [])).stdout.trim()
        await expect.poll(() => said).toContain('enviar pedido-0002 2590\n')
        await expect(runProgram('pedido.py', program, [])).rejects.toThrow('pedido-0002 já está pago')

        expect((await runProgram('devolver.py', refund, [], id)).stdout).toBe('PROCESSING\n')
        await untilPaidAgain(guiche, id)
      } finally {
        server.kill()
        await ended
      }
      expect(said.match(/enviar/g)).toHaveLength(1)
      expect((await runProgram('erro.py', failing)).stdout).toMatch(/^validation_failed\namount must be/)
    })
  })
})

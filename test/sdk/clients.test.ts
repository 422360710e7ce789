import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { rolldown } from 'rolldown'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { lengthOf } from '../support/random.ts'
import { startTestService, type TestService } from '../support/service.ts'

/** `npm run clients` installs them: the generators and tools that other developers use with the API. */
const tools = resolve('tools/clients/node_modules')
const run = promisify(execFile)

const input = resolve('docs/openapi.json')
/** The generators with their arguments, each by the name of the program that uses the generated client. */
const generators = {
  'openapi-fetch': ['openapi-typescript', input, '-o', 'schema.ts', '--default-non-nullable', 'false'],
  'hey-api': ['openapi-ts', '-i', input, '-o', 'heyapi', '-c', '@hey-api/client-fetch'],
  orval: ['orval', '--config', 'orval.config.cjs'],
}
const tried = Object.entries(generators).slice(0, lengthOf({ short: 1, long: 3 }))

describe.skipIf(!existsSync(tools))('clients that others generate from the document', () => {
  let service: TestService
  let folder: string

  beforeAll(async () => {
    service = await startTestService()
    folder = await mkdtemp(join(tmpdir(), 'guiche-clients-'))
    await cp('tools/clients/programs/tsconfig.json', join(folder, 'tsconfig.json'))
    await symlink(tools, join(folder, 'node_modules'))
    const output = { target: './orval.gen.ts', client: 'fetch', baseUrl: service.baseUrl }
    await writeFile(
      join(folder, 'orval.config.cjs'),
      `module.exports = { guiche: ${JSON.stringify({ input, output })} }`,
    )
    for (const [program, [generator = '', ...args]] of tried) {
      await cp(`tools/clients/programs/${program}.ts`, join(folder, `${program}.ts`))
      await run(join(tools, '.bin', generator), args, { cwd: folder })
    }
  })
  afterAll(async () => {
    await service.stop()
    await rm(folder, { recursive: true, force: true })
  })

  it('compile under strict, with programs that cast nothing', async () => {
    await cp('node_modules/@types/node', join(folder, 'types/node'), { recursive: true })
    const args = ['-p', folder, '--typeRoots', join(folder, 'types')]
    const failure = await run(join(tools, '.bin/tsc'), args).then(
      () => '',
      (error: { stdout: string }) => error.stdout || String(error),
    )
    expect(failure).toBe('')
  })

  it('have current collections for Postman and Bruno: `npm run collections` writes them', async () => {
    await run(process.execPath, ['tools/clients/collection.mjs', folder])
    for (const name of ['guiche.postman_collection.json', 'guiche.bruno.json'])
      expect(await readFile(`docs/public/collections/${name}`, 'utf8')).toBe(await readFile(join(folder, name), 'utf8'))
  })

  it.each(tried)('create, pay, list and read events: %s', async (name) => {
    const bundle = await rolldown({ input: join(folder, `${name}.ts`), platform: 'node', cwd: folder })
    await bundle.write({ file: join(folder, `${name}.mjs`) })
    const { clientId, clientSecret } = service.sandbox
    const program = [join(folder, `${name}.mjs`), service.baseUrl, clientId, clientSecret]
    expect((await run(process.execPath, program)).stdout).toBe('PAID 2590 true\n2590 2\n')
  })
})

import { execFileSync, spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { rowsUnder } from '../support/documents.ts'
import { findPython } from '../support/python.ts'

/**
 * The three SDKs have the same methods, which docs/sdk.md lists side by side. Each surface is read from the SDK itself:
 * by TypeScript's compiler, PHP's reflection and Python's `inspect`.
 */

/** `initial` is the default as the language writes it. */
type Parameter = { name: string; isOptional: boolean; isOption: boolean; initial?: string }
type Surface = { callables: Record<string, Parameter[]>; errors: string[] }

const hasPhp = spawnSync('php', ['-r', 'exit(PHP_VERSION_ID >= 80100 ? 0 : 1);']).status === 0
const python = findPython('httpx') ?? ''

/** Options of one SDK alone: PHP has no signals, and each sends requests with its platform's HTTP client. */
const own = ['signal', 'fetch', 'transport', 'tokenStore', 'sleep', 'httpClient']
/** Timeouts are milliseconds in JavaScript and PHP, and seconds in Python. A tolerance is in seconds in all. */
const renamed: Record<string, string> = { timeout: 'timeoutMs', tolerance: 'toleranceSeconds' }
const toJavaScript = (name: string) => {
  const found = name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
  return renamed[found] ?? found
}

const javascript = readSurface(process.execPath, 'tools/document/sdk-surface.mjs')
const readPhp = () => readSurface('php', 'test/sdk/surface/surface.php', resolve('sdk-php'))
const readPython = (kind = 'sync') => readSurface(python, 'test/sdk/surface/surface.py', kind)

it('the surface of the JavaScript SDK is read', () => {
  expect(shapeOf(javascript)).toMatchObject({
    'deliveries.resend': 'eventId; endpointId, maxRetries, timeoutMs',
    'transactions.waitFor': 'id, until; timeoutMs',
  })
})

describe.skipIf(!hasPhp)('the surface of the PHP SDK', () => {
  it('is that of JavaScript', () => {
    const php = readPhp()
    expect(shapeOf(php)).toEqual(shapeOf(javascript))
    expect(php.errors.map((name) => name.replace('Exception', 'Error'))).toEqual(javascript.errors)
  })
})

describe.skipIf(python === '')('the surface of the Python SDK', () => {
  it.each(['sync', 'async'])('is that of JavaScript: %s', (kind) => {
    const found = readPython(kind)
    expect(shapeOf(found)).toEqual(shapeOf(javascript))
    expect(found.errors).toEqual(javascript.errors)
  })
})

describe.each(['docs/sdk.md', 'docs/pt/sdk.md'])('the table of %s', (document) => {
  const rows = rowsUnder(document, document.includes('/pt/') ? 'Métodos' : 'Methods')
  const column = (index: number) => rows.map((row) => row[index])

  it('has the methods of JavaScript', () => {
    const list = (parameters: Parameter[]) => {
      const write = ({ name, isOptional }: Parameter) => `${name}${isOptional ? '?' : ''}`
      const options = parameters.filter(({ isOption }) => isOption).map(write)
      const object = options.length > 0 ? [`{ ${options.join(', ')} }`] : []
      return [...parameters.filter(({ isOption }) => !isOption).map(write), ...object].join(', ')
    }
    expect(column(0)).toEqual(callsOf(javascript, '.', list))
  })

  it.skipIf(!hasPhp)('has those of PHP', () => {
    const list = (parameters: Parameter[]) =>
      parameters.map(({ name, initial }) => `$${name}${initial ? ` = ${initial}` : ''}`).join(', ')
    expect(column(1)).toEqual(callsOf(readPhp(), '->', list))
  })

  it.skipIf(python === '')('has those of Python', () => {
    const list = (parameters: Parameter[]) =>
      parameters.map(({ name, isOptional, initial }) => `${name}${isOptional ? `=${initial}` : ''}`).join(', ')
    expect(column(2)).toEqual(callsOf(readPython(), '.', list))
  })
})

function readSurface(program: string, ...args: string[]): Surface {
  const env = { ...process.env, PYTHONPATH: resolve('sdk-python/src'), PYTHONDONTWRITEBYTECODE: '1' }
  return JSON.parse(execFileSync(program, args, { encoding: 'utf8', env }))
}

/** What all languages share: the names, as JavaScript writes them; the required parameters, and the optional ones. */
function shapeOf({ callables }: Surface): Record<string, string> {
  return Object.fromEntries(
    Object.entries(callables).map(([name, parameters]) => {
      // Credentials or an access token: only TypeScript can say that one of them is required.
      const isClient = name === 'Guiche'
      const namesOf = (isOptional: boolean) =>
        parameters
          .filter((one) => (one.isOptional || (isClient && toJavaScript(one.name) !== 'baseUrl')) === isOptional)
          .map((one) => toJavaScript(one.name))
          .filter((one) => !own.includes(one))
      return [
        toJavaScript(name),
        [namesOf(false), namesOf(true).toSorted()].map((names) => names.join(', ')).join('; '),
      ]
    }),
  )
}

/** The methods of resources and lists in the order of JavaScript, without the options that every call takes. */
function callsOf({ callables }: Surface, access: string, list: (parameters: Parameter[]) => string): string[] {
  const order = Object.keys(javascript.callables)
  return Object.entries(callables)
    .filter(([name]) => name.includes('.') && !name.startsWith('receiver.'))
    .toSorted(([left], [right]) => order.indexOf(toJavaScript(left)) - order.indexOf(toJavaScript(right)))
    .map(([name, parameters]) => {
      const names = parameters.map((one) => toJavaScript(one.name))
      const common = names.includes('maxRetries') ? ['timeoutMs', 'maxRetries', 'signal'] : ['signal']
      const shown = parameters.filter((_, index) => !common.includes(names[index] ?? ''))
      return `\`${name.replace('.', access)}(${list(shown)})\``
    })
}

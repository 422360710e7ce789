import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { describe, expect, it } from 'vitest'

/**
 * The layers of src/. A folder, or a file beside the folders, imports only itself and lower layers. So transactions and
 * withdrawals do not import each other, and acquirers cannot import the ledger.
 */
const layers: string[][] = [
  ['lib'],
  ['pix', 'db', 'config.ts'],
  ['http', 'jobs', 'acquirers', 'audit'],
  ['auth', 'ledger', 'webhooks', 'exchanges', 'retention', 'requests'],
  ['payouts', 'alerts', 'sinks'],
  ['suspense', 'users', 'proposals', 'links'],
  ['transactions', 'withdrawals', 'entries'],
  [
    'branding',
    'callbacks',
    'attribution',
    'defences',
    'sandbox',
    'explain',
    'merchant.ts',
    'reconciliation',
    'privacy',
  ],
  ['verification.ts', 'proposal-kinds.ts', 'reports'],
  ['operator'],
  ['dashboard', 'pay', 'guide'],
  ['app.ts', 'worker.ts'],
  // These connect the others, and may import each other.
  [
    'cluster',
    'database.ts',
    'environment.ts',
    'log.ts',
    'main.ts',
    'network.ts',
    'openapi.ts',
    'port.ts',
    'process-metrics.ts',
    'database-mark.ts',
    'standby.ts',
    'registration.ts',
    'sandbox-client.ts',
    'service.ts',
    'tracing.ts',
    'version.ts',
    'welcome.ts',
  ],
  ['cli'],
]
const wiring = layers.findIndex((parts) => parts.includes('main.ts'))

/** The entry points of programs. A file that only its own test imports is unused. */
const entries = [
  ...['src/main.ts', 'src/cli/main.ts'],
  ...['sdk/src/index.ts', 'sdk/src/testing.ts'],
  // The benchmark, and the processes that it starts.
  ...['main', 'hello', 'profile-hook', 'stages-hook', 'load/main', 'load/receivers', 'baseline/main', 'seed/main'].map(
    (name) => `bench/${name}.ts`,
  ),
]

const linesMax = 400

/** Written by `npm run sdk:types`. */
const generated = 'sdk/src/openapi.ts'

/** Where SQL may be written: in stores, in src/db and src/jobs, and in one file of the simulator. */
const sqlPlaces = /(?:^|[/-])store\.ts$|^src\/(?:db|jobs)\/|^simulator\/transaction\.ts$/

const files = walk('.').sort()
const code = files.filter((file) => /^(?:(?:src|simulator|qr-png|sdk|test|scripts|bench)\/.*|[^/]*)\.ts$/.test(file))
const program = code.filter((file) => /^(?:src|simulator)\//.test(file) && !file.endsWith('.test.ts'))
/** The benchmark, without bench/peers/: the stacks that Guichê is compared with are separate packages. */
const bench = code.filter((file) => /^bench\/(?!peers\/)/.test(file) && !file.endsWith('.test.ts'))
/** A package without dependencies. */
const qrPng = code.filter((file) => file.startsWith('qr-png/') && !file.endsWith('.test.ts'))
/** What shops install. */
const sdk = code.filter((file) => file.startsWith('sdk/') && !file.endsWith('.test.ts'))
/** The dashboard's pages, which take the types of answers from the program. */
const pages = files.filter((file) => /^dashboard\/src\/.*\.tsx?$/.test(file))
const sources = new Map([...code, ...pages].map((file) => [file, readFileSync(file, 'utf8')]))
const read = (file: string) => sources.get(file) ?? ''

describe('the boundaries', () => {
  it.each(program.filter((file) => file.startsWith('src/')))('%s imports lower layers only', (file) => {
    const part = partOf(file)
    const layer = layerOf(part)
    expect(layer, `${part} needs a layer in this test`).toBeGreaterThanOrEqual(0)
    const forbidden = importsOf(file).filter((imported) => {
      const other = partOf(imported)
      if (imported.startsWith('simulator/')) return layer < wiring
      // The command line is a client of the service, as a shop is.
      if (imported.startsWith('sdk/')) return part !== 'cli'
      if (imported.startsWith('qr-png/')) return imported !== 'qr-png/src/index.ts' || part !== 'pix'
      return other !== part && layerOf(other) >= layer && !(layer === wiring && layerOf(other) === wiring)
    })
    expect(forbidden).toEqual([])
  })

  it.each(program.filter((file) => file.startsWith('simulator/')))(
    '%s imports pix/ and lib/ and nothing else of the gateway',
    (file) => {
      expect(
        importsOf(file).filter(
          (imported) => !/^(?:simulator(?:\/faults)?|src\/pix|src\/lib)\/[\w-]+\.ts$/.test(imported),
        ),
      ).toEqual([])
    },
  )

  it.each(sdk)('%s imports only the SDK, and Node only for the helpers of tests', (file) => {
    expect(importsOf(file).filter((imported) => !imported.startsWith('sdk/src/'))).toEqual([])
    const packages = [...read(file).matchAll(/(?:\bfrom|\bimport|\bimport\() ?'([^.'][^']*)'/g)].map(([, name]) => name)
    const isForNode = file.startsWith('sdk/src/testing/')
    expect(packages.filter((name) => !(isForNode && name?.startsWith('node:')))).toEqual([])
  })

  it.each(qrPng)('%s imports only its package and Node', (file) => {
    expect(importsOf(file).filter((imported) => !imported.startsWith('qr-png/src/'))).toEqual([])
    const packages = [...read(file).matchAll(/\bfrom '([^.'][^']*)'/g)].map(([, name]) => name)
    expect(packages.filter((name) => !name?.startsWith('node:'))).toEqual([])
  })

  it('keep the program free of the benchmark', () => {
    expect(program.filter((file) => importsOf(file).some((imported) => imported.startsWith('bench/')))).toEqual([])
  })

  it('let only src/db wrap `transaction`, for example to record who began a transaction', () => {
    const wrapped = /\btransaction(?:\(|: (?:async )?\(?)work\b/
    expect(
      program.filter((file) => !/^src\/db\/(?:sql|background)\.ts$/.test(file) && wrapped.test(read(file))),
    ).toEqual([])
  })

  it('give the dashboard the types of the program in one file', () => {
    const deep = pages.filter((file) => /from '(?:\.\.\/)+src\//.test(read(file)))
    expect(deep).toEqual(['dashboard/src/types.ts'])
  })

  it('allow no input of a day or a time that the browser shows in its own language', () => {
    const native = /\btype=\{?["'](?:date|datetime-local|month|time|week)["']/
    expect(native.test('<TextInput type="date" />')).toBe(true)
    expect(pages.filter((file) => native.test(read(file)))).toEqual([])
  })

  it('give each action of an operator one response, on the command line and in the dashboard', () => {
    const own = /^(?:export )?function to(?:View|Listed|DiscrepancyView|Candidate)\(/m
    const twice = ['client', 'difference', 'fee', 'ledger-entry', 'suspense', 'proposal', 'reconcile'].map(
      (name) => `src/cli/${name}.ts`,
    )
    expect(twice.filter((file) => own.test(read(file)))).toEqual([])
  })

  it('let no field of a request body replace what the route has checked', () => {
    const later = /(?<!\{\s*)\.\.\.(?:request\.)?body\b/
    expect(later.test('{ merchantId, ...request.body }')).toBe(true)
    expect(program.filter((file) => later.test(read(file)))).toEqual([])
  })

  it('leave SQL to the stores', () => {
    const written = /\bsql`|\.query(?:<[^>]*>)?\(\s*['"`{]|\btext: `/
    expect(program.filter((file) => !sqlPlaces.test(file) && written.test(withoutComments(read(file))))).toEqual([])
  })

  it('leave environment variables to main.ts, the command line and PATH look-ups', () => {
    const readers = program.filter((file) => /process\.env\b(?!\.PATH)/.test(read(file)))
    expect(readers.filter((file) => file !== 'src/main.ts' && !file.startsWith('src/cli/'))).toEqual([])
  })
})

describe('every file', () => {
  it('is imported, directly or not, by an entry point of a program or by a test in test/', () => {
    const reached = new Set<string>()
    const follow = (file: string) => {
      if (reached.has(file)) return
      reached.add(file)
      for (const imported of importsOf(file)) follow(imported)
    }
    for (const file of [...entries, ...code.filter((one) => one.startsWith('test/') && one.endsWith('.test.ts'))])
      follow(file)
    expect([...program, ...qrPng, ...sdk, ...bench].filter((file) => !reached.has(file))).toEqual([])
  })

  it('exports nothing that nobody uses', () => {
    const uses = new Map<string, number>()
    for (const word of [...code, ...pages].flatMap((file) => read(file).match(/\w+/g) ?? []))
      uses.set(word, (uses.get(word) ?? 0) + 1)
    // The generated types of the SDK are all those of the API, used or not.
    const inside = sdk.filter((file) => file !== generated)
    const unused = [...program, ...qrPng, ...inside, ...bench].flatMap((file) =>
      exportsOf(file).flatMap((name) => (uses.get(name) === 1 ? [`${file}: ${name}`] : [])),
    )
    expect(unused).toEqual([])
  })

  it(`has ${linesMax} lines at most`, () => {
    expect(
      [...code, ...pages].filter((file) => file !== generated && read(file).split('\n').length - 1 > linesMax),
    ).toEqual([])
  })

  it('does not print with `console`', () => {
    expect(code.filter((file) => /\bconsole\.\w/.test(withoutComments(read(file))))).toEqual([])
  })

  it('names no path of the machine that it was written on', () => {
    const texts = files.filter((file) =>
      /\.(?:tsx?|js|json|md|sql|ya?ml|html|css|example)$|^\.ci\/|Dockerfile$/.test(file),
    )
    expect(texts.length).toBeGreaterThan(code.length)
    const local = /(?<![\w./:@*-])\/(?:work|root|home\/\w+)(?![\w-])/
    expect(texts.filter((file) => local.test(readFileSync(file, 'utf8')))).toEqual([])
  })
})

describe('the migrations', () => {
  const migrations = files.filter((file) => file.startsWith('migrations/'))

  it('have a number each', () => {
    const numbers = migrations.map((file) => /^migrations\/(\d{4})_[a-z_]+\.sql$/.exec(file)?.[1] ?? file)
    expect(new Set(numbers).size, numbers.join(' ')).toBe(migrations.length)
    expect(numbers.every((number) => /^\d{4}$/.test(number))).toBe(true)
  })

  it.each(migrations)('%s begins with why', (file) => {
    expect(readFileSync(file, 'utf8')).toMatch(/^-- Why: \S/)
  })
})

it("CONTRIBUTING.md's table has every layer", () => {
  const rows = [...readFileSync('CONTRIBUTING.md', 'utf8').matchAll(/^ *\| \d+ \| (.*) \|$/gm)]
  const written = rows.map(([, names = '']) => [...names.matchAll(/`([^`]+)`/g)].map(([, name]) => name))
  expect(written.filter((_, layer) => layer !== wiring)).toEqual(layers.filter((_, layer) => layer !== wiring))
})

it('.env.example names exactly the variables that the configuration reads', () => {
  const configured = [...read('src/config.ts').matchAll(/\b([A-Z][A-Z_]*): (?:Type\.|optionalText\b)/g)].map(
    ([, name]) => name,
  )
  const named = [...readFileSync('.env.example', 'utf8').matchAll(/^([A-Z][A-Z_]*)=/gm)].map(([, name]) => name)
  expect(configured.length).toBeGreaterThan(10)
  expect(named.toSorted()).toEqual(configured.toSorted())
})

function walk(folder: string): string[] {
  const skipped = new Set(['node_modules', 'dist', 'data', 'coverage', '.git'])
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = folder === '.' ? entry.name : `${folder}/${entry.name}`
    if (entry.isDirectory()) return skipped.has(entry.name) ? [] : walk(path)
    return entry.isFile() ? [path] : []
  })
}

/** The folder of src/ that has a file, or the file itself if it is directly in src/. */
function partOf(file: string): string {
  return file.replace(/^src\//, '').split('/')[0] ?? ''
}

function layerOf(part: string): number {
  return layers.findIndex((parts) => parts.includes(part))
}

/** The files of ours that a file imports, statically or not. */
function importsOf(file: string): string[] {
  const paths = [...read(file).matchAll(/(?:\bfrom|\bimport|\bimport\(|new URL\()\s*'(\.[^']*)'/g)]
  return paths.map(([, path]) => normalize(join(dirname(file), path ?? '')).replaceAll('\\', '/'))
}

function exportsOf(file: string): string[] {
  const declared = /^export (?:async )?(?:const|let|function\*?|class|type|interface) (\w+)/gm
  return [...read(file).matchAll(declared)].flatMap(([, name]) => (name ? [name] : []))
}

function withoutComments(source: string): string {
  return source.replace(/\/\*[\s\S]*?\*\/|(?<!:)\/\/.*$/gm, '')
}

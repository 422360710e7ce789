/** The fields of a V8 CPU profile that the bench reads. */
export type CpuProfile = { nodes: ProfileNode[]; samples: number[]; timeDeltas: number[] }
type ProfileNode = {
  id: number
  callFrame: { functionName: string; url: string; lineNumber: number; columnNumber: number }
  children?: number[]
}

/**
 * Maps the file of a function to a component. Frames are tried from the innermost outwards, and the first rule that
 * matches decides. Node's own code counts for its caller's component.
 */
const rules: [component: string, place: RegExp][] = [
  ['QR code and PNG', /\/src\/pix\/qr|\/qr-png\//],
  ['BR Code', /\/src\/pix\/|\/simulator\/(?:location|payload)/],
  ['token and guard', /\/src\/auth\/|\/node_modules\/jose\//],
  ['rate limit', /\/src\/http\/rate-limit/],
  [
    'log',
    /\/node_modules\/(?:pino|@pinojs|sonic-boom|pino-std-serializers|quick-format-unescaped|safe-stable-stringify)\//,
  ],
  ['metrics', /\/src\/http\/observe|\/node_modules\/prom-client\//],
  [
    'validation',
    /\/src\/http\/(?:validate|formats|schemas)|\/node_modules\/(?:ajv|ajv-formats|fast-uri|typebox|libphonenumber-js|@brazilian-utils)\/|^anonymous-validation/,
  ],
  ['database driver', /\/node_modules\/(?:pg|pg-protocol|pg-pool|pg-types|postgres-\w+|sql-template-tag)\//],
  ['statements and batching', /\/src\/db\/|\/src\/lib\/batch|store\.[jt]s$/],
  ['jobs and deliveries', /\/src\/(?:jobs|webhooks|worker|callbacks|exchanges)/],
  ['simulated bank', /\/simulator\/|\/src\/network\./],
  ['acquirer adapter', /\/src\/acquirers\//],
  ['answer as JSON', /\/node_modules\/(?:fast-json-stringify|@fastify\/fast-json-stringify-compiler)\//],
  ['create and view', /\/src\/transactions\/|\/src\/lib\//],
  ['Fastify and headers', /\/node_modules\/|\/src\/http\/|\/src\/app\./],
]

const special = new Map([
  ['(garbage collector)', 'garbage collection'],
  ['(program)', 'native code and system calls'],
  ['(idle)', 'idle'],
])

/** Microseconds of self time by component and, within it, by function: `name file:line`. Idle time is left out. */
export function byComponent(profile: CpuProfile): Map<string, { micros: number; functions: Map<string, number> }> {
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]))
  const parents = new Map(profile.nodes.flatMap((node) => (node.children ?? []).map((child) => [child, node] as const)))
  const components = new Map<number, string>()
  const sums = new Map<string, { micros: number; functions: Map<string, number> }>()
  for (const [index, id] of profile.samples.entries()) {
    const node = nodes.get(id)
    if (!node) continue
    const component = components.get(id) ?? componentOf(node, parents)
    components.set(id, component)
    if (component === 'idle') continue
    const sum = sums.get(component) ?? { micros: 0, functions: new Map<string, number>() }
    const micros = profile.timeDeltas[index] ?? 0
    sum.micros += micros
    const name = nameOf(node)
    sum.functions.set(name, (sum.functions.get(name) ?? 0) + micros)
    sums.set(component, sum)
  }
  return sums
}

function componentOf(node: ProfileNode, parents: Map<number, ProfileNode>): string {
  const known = special.get(node.callFrame.functionName)
  if (known !== undefined) return known
  for (let at: ProfileNode | undefined = node; at; at = parents.get(at.id)) {
    const { url } = at.callFrame
    const rule = url.startsWith('node:') ? undefined : rules.find(([, place]) => place.test(url))
    if (rule) return rule[0]
  }
  return 'Node: HTTP, sockets, timers'
}

function nameOf({ callFrame: { functionName, url, lineNumber } }: ProfileNode): string {
  const place = url.replace(/^.*\/(?:node_modules|dist|\.\.)\//, '')
  return `${functionName || '(anonymous)'}${place && ` ${place}:${lineNumber + 1}`}`
}

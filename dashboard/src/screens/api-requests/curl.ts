import type { ApiRequests } from '../../types.ts'

/** A request as a command that sends it again. The token, and each value that was not stored, is a placeholder. */
export function toCurl({ method, route, recordId, request }: ApiRequests['data'][number], origin: string): string {
  const { query, body } = request ?? {}
  const path = route.replace(/:(\w+)/g, (_all, name: string) =>
    name === 'id' && recordId !== null ? recordId : `<${name}>`,
  )
  const parameters = Object.entries(isObject(query) ? query : {}).flatMap(([name, value]) =>
    name === unknownFields ? [] : [value].flat().map((one) => `${name}=${encode(toPlaceholders(one, name))}`),
  )
  const address = `${origin}${path}${parameters.length > 0 ? `?${parameters.join('&')}` : ''}`
  const hasBody = body !== undefined
  return [
    `curl ${method === 'GET' ? '' : `-X ${method} `}${quote(address)}`,
    `-H "Authorization: Bearer $TOKEN"`,
    ...(hasBody ? [`-H 'Content-Type: application/json'`, `-d ${quote(toBody(body))}`] : []),
  ].join(' \\\n  ')
}

/** The key under which src/requests/redact.ts counts the fields whose names were not stored. */
const unknownFields = '[unknown fields]'

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

const toBody = (body: unknown) => (isObject(body) ? JSON.stringify(toPlaceholders(body, ''), null, 2) : '<body>')

/** Every text in brackets stands for a value that was not stored: `<customer.name>` says which. */
function toPlaceholders(value: unknown, path: string): unknown {
  if (typeof value === 'string') return value.startsWith('[') ? `<${path}>` : value
  if (Array.isArray(value)) return value.map((one, index) => toPlaceholders(one, `${path}.${index}`))
  if (!isObject(value)) return value
  const known = Object.entries(value).filter(([name]) => name !== unknownFields)
  return Object.fromEntries(
    known.map(([name, one]) => [name, toPlaceholders(one, path === '' ? name : `${path}.${name}`)]),
  )
}

/** Angle brackets stay readable: whoever fills in a placeholder has to encode its value anyway. */
const encode = (value: unknown) => (/^<.*>$/.test(String(value)) ? String(value) : encodeURIComponent(String(value)))

const quote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`

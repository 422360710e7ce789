import { existsSync, readFileSync } from 'node:fs'
import { Ajv, type ValidateFunction } from 'ajv'
import formats from 'ajv-formats'
import { parse } from 'yaml'

const file = new URL('../../../shared/data/bacen-openapi.yaml', import.meta.url)

/** False if the Central Bank's OpenAPI file is not available: tests that use it are then skipped. */
export const hasBacenOpenApi = existsSync(file)

export type OpenApi = {
  /** The operation's parameters in path and query, by name. */
  parameters(method: string, path: string): Record<string, ValidateFunction>
  requestBody(method: string, path: string): ValidateFunction | null
  schema(name: string): ValidateFunction
}

/** The Central Bank's OpenAPI with its known errors repaired, ready for validation. */
export function loadBacenOpenApi(): OpenApi {
  const document: Json = parse(readFileSync(file, 'utf8'))
  repair(document)
  const ajv = new Ajv({ strict: false, allErrors: true, coerceTypes: false })
  formats.default(ajv)
  // A location is a URI without its scheme, by the document's own examples.
  ajv.addFormat('uri-location', true)
  ajv.addSchema(document, 'bacen')
  const compile = (pointer: string) => ajv.compile({ $ref: `bacen#${encodeURI(pointer)}` })

  return {
    parameters: (method, path) => {
      const found: Record<string, ValidateFunction> = {}
      for (const owner of [`/paths/${toName(path)}`, `/paths/${toName(path)}/${method}`]) {
        const parameters = at(document, owner).parameters ?? []
        for (const index of Object.keys(parameters)) {
          const pointer = follow(document, `${owner}/parameters/${index}`)
          found[at(document, pointer).name] = compile(`${pointer}/schema`)
        }
      }
      return found
    },
    requestBody: (method, path) => {
      const owner = `/paths/${toName(path)}/${method}/requestBody`
      if (!at(document, `/paths/${toName(path)}/${method}`).requestBody) return null
      return compile(`${follow(document, owner)}/content/application~1json/schema`)
    },
    schema: (name) => compile(`/components/schemas/${name}`),
  }
}

// biome-ignore lint/suspicious/noExplicitAny: a parsed document whose shape we do not control.
type Json = any

/**
 * Many patterns lack anchors, some are enclosed in slashes, locations are called URIs, and a `required` list names a
 * field that does not exist.
 */
function repair(node: Json) {
  if (typeof node !== 'object' || node === null) return
  if (typeof node.pattern === 'string') node.pattern = `^(?:${node.pattern.replace(/^\/\^?|\$?\/$/g, '')})$`
  if (node.format === 'uri' && node.readOnly) node.format = 'uri-location'
  if (Array.isArray(node.required)) {
    if (node.required.includes('cobs') && node.properties?.pix) node.required = ['parametros', 'pix']
  }
  for (const child of Object.values(node)) repair(child)
}

function at(document: Json, pointer: string): Json {
  const names = pointer.split('/').slice(1)
  return names.reduce((node, name) => node[name.replaceAll('~1', '/').replaceAll('~0', '~')], document)
}

/** The target of a reference, or the pointer itself. */
function follow(document: Json, pointer: string): string {
  const reference = at(document, pointer).$ref
  return reference ? reference.slice(1) : pointer
}

/** A path as one name in a JSON pointer. */
function toName(path: string): string {
  return path.replaceAll('~', '~0').replaceAll('/', '~1')
}

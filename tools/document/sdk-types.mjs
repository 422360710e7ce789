import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import openapiTS, { astToString } from 'openapi-typescript'

/**
 * Writes the SDK's types from docs/openapi.json into the given file, or prints them. Each named schema of the document
 * becomes a type of that name: `Transaction`, not `components['schemas']['Transaction']`.
 */

const document = JSON.parse(readFileSync(join(import.meta.dirname, '../../docs/openapi.json'), 'utf8'))
// A field with a default may be left out of a request.
const options = { rootTypes: true, rootTypesNoSchemaPrefix: true, defaultNonNullable: false }
const written = astToString(await openapiTS(reduce(document), options))
const codes = Object.keys(document.components.examples).map((code) => `  | '${code}'`)
const text = `// Written by \`npm run sdk:types\` from docs/openapi.json. Edit the schemas of the routes, not this file.

${written}
/** Every error \`code\` that the API has. A newer service may have more: handle unknown codes too. */
export type ErrorCode =
${codes.join('\n')}
`
// Written here, not by the shell, which would empty the file first and leave it so when this program fails.
const [, , file] = process.argv
if (file === undefined) process.stdout.write(text)
else writeFileSync(file, text)

/** The schemas and the query parameters. The SDK's own methods cover the rest, which would be 90 % of the file. */
function reduce({ openapi, info, paths, components }) {
  const toFilters = ({ operationId, parameters = [] }) => ({
    operationId,
    parameters: parameters.filter((one) => one.in === 'query'),
    responses: {},
  })
  const hasFilters = (operation) => toFilters(operation).parameters.length > 0
  const filtered = Object.entries(paths).flatMap(([path, operations]) => {
    const kept = Object.entries(operations).filter(([, operation]) => hasFilters(operation))
    return kept.length === 0
      ? []
      : [[path, Object.fromEntries(kept.map(([method, operation]) => [method, toFilters(operation)]))]]
  })
  return structuredClone({
    openapi,
    info,
    paths: Object.fromEntries(filtered),
    components: { schemas: components.schemas },
  })
}

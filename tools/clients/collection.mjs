import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { postmanToBruno } from '@usebruno/converters'
import converter from 'openapi-to-postmanv2'

/** Writes the collections for Postman and Bruno from docs/openapi.json into a folder. */

const root = join(import.meta.dirname, '../..')
const folder = process.argv[2] ?? join(root, 'docs/public/collections')
const document = JSON.parse(readFileSync(join(root, 'docs/openapi.json'), 'utf8'))

const input = { type: 'json', data: structuredClone(document) }
const options = { folderStrategy: 'Tags', parametersResolution: 'Example', includeWebhooks: false }
const converted = await new Promise((done, fail) =>
  converter.convertV2(input, options, (error, { result, reason, output } = {}) =>
    result ? done(output[0].data) : fail(error ?? new Error(reason)),
  ),
)

/** Requests that can be sent at once: with the document's examples, and only with the parameters that are needed. */
function complete(item) {
  if (item.item) return { ...item, item: item.item.map(complete) }
  const { request } = item
  const path = `/${request.url.path.join('/')}`.replaceAll(/:(\w+)/g, '{$1}')
  const { parameters = [], requestBody } = document.paths[path][request.method.toLowerCase()]
  const isNeeded = ({ key }) => parameters.some(({ name, required }) => name === key && required)
  const [[type, media] = []] = Object.entries(requestBody?.content ?? {})
  const body =
    type === 'application/json'
      ? { mode: 'raw', raw: JSON.stringify(media.example, null, 2), options: { raw: { language: 'json' } } }
      : type === undefined
        ? undefined
        : {
            mode: 'urlencoded',
            urlencoded: [
              { key: 'client_id', value: '{{clientId}}' },
              { key: 'client_secret', value: '{{clientSecret}}' },
              { key: 'grant_type', value: 'client_credentials' },
            ],
          }
  const { body: _, auth: __, ...rest } = request
  return {
    name: item.name,
    request: {
      ...rest,
      header: request.header.filter(({ key }) => key === 'Content-Type' || key === 'Accept'),
      // Without the converter's values, which are made at random.
      url: {
        raw: `{{baseUrl}}/${request.url.path.join('/')}`,
        ...request.url,
        query: request.url.query.map((one) => ({ ...one, value: '', disabled: !isNeeded(one) })),
        variable: request.url.variable.map((one) => ({ ...one, value: '' })),
      },
      ...(body && { body }),
      ...(path.startsWith('/auth/') || path.startsWith('/.well-known') ? { auth: { type: 'noauth' } } : {}),
    },
    response: [],
    ...(path === '/auth/token' && { event: [keepToken] }),
  }
}

/** The token goes into a variable that all other requests send. */
const keepToken = {
  listen: 'test',
  script: { type: 'text/javascript', exec: ["pm.collectionVariables.set('token', pm.response.json().access_token)"] },
}

const variables = { baseUrl: 'http://127.0.0.1:3000', clientId: '', clientSecret: '', token: '' }
const collection = {
  info: { ...converted.info, name: 'Guichê', _postman_id: undefined },
  item: converted.item.filter(({ item }) => item.length > 0).map(complete),
  auth: { type: 'bearer', bearer: [{ key: 'token', value: '{{token}}', type: 'string' }] },
  variable: Object.entries(variables).map(([key, value]) => ({ key, value, type: 'string' })),
}

/** Both programs make their own ids when they import a collection. @param {unknown} value */
const withoutIds = (value) =>
  `${JSON.stringify(value, (key, one) => (key === 'id' || key === 'uid' ? undefined : one), 1)}\n`

mkdirSync(folder, { recursive: true })
writeFileSync(join(folder, 'guiche.postman_collection.json'), withoutIds(collection))
const { collection: bruno } = await postmanToBruno(JSON.parse(withoutIds(collection)))
writeFileSync(join(folder, 'guiche.bruno.json'), withoutIds(bruno))

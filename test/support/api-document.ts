export type Json = Record<string, unknown>

type Content = Record<string, { schema?: Json; example?: unknown; examples?: Record<string, { $ref: string }> }>
type Parameter = {
  name: string
  in: 'query' | 'path' | 'header'
  required?: boolean
  description?: string
  schema: Json
}

type OperationSource = {
  operationId?: string
  summary?: string
  description?: string
  tags?: string[]
  security?: Record<string, string[]>[]
  parameters?: Parameter[]
  requestBody?: { content: Content; required?: boolean }
  responses: Record<string, { description: string; headers?: Json; content?: Content }>
}

/** The parts of an OpenAPI 3.1 document that ours uses. */
export type ApiDocument = {
  openapi: string
  info: Json
  tags: { name: string }[]
  paths: Record<string, Record<string, OperationSource>>
  webhooks: Record<string, Record<string, OperationSource>>
  components: {
    schemas: Record<string, Json>
    examples: Record<string, { summary: string; value: Json }>
    headers: Record<string, Json>
    securitySchemes: Record<string, { type: string; flows?: { clientCredentials: { scopes: Json } } }>
  }
}

export type Operation = OperationSource & { method: string; path: string; source: OperationSource }

export function listOperations({ paths }: Pick<ApiDocument, 'paths'>): Operation[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, source]) => ({ ...source, source, path, method: method.toUpperCase() })),
  )
}

/** A name as part of a JSON pointer within a URI. */
export function toPointer(name: string): string {
  return encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'))
}

import { Type } from 'typebox'
import { byUser } from '../audit/record.ts'
import type { Db } from '../db/sql.ts'
import { userOf } from '../http/caller.ts'
import { NoQuery, problems } from '../http/schemas.ts'
import type { Server } from '../http/server.ts'
import type { Clock } from '../lib/clock.ts'
import { parseDocument } from '../lib/document.ts'
import { invalidField } from '../lib/errors.ts'
import type { SecretKey } from '../lib/secrets.ts'
import { erasePerson, exportPerson } from '../privacy/person.ts'
import { Document } from '../transactions/schema.ts'
import { ErasedPersonView, ExportedPersonView } from './operator-schema.ts'

type Deps = { db: Db; clock: Clock; key: SecretKey }

const access = { permission: 'personal_data.write' }

/**
 * A person's data, of all merchants, for the operator's admins, as on the command line. The document is in the body
 * and never in an address.
 */
export function registerPersonalDataRoutes(app: Server, deps: Deps): void {
  app.post(
    '/dashboard/api/person/export',
    {
      config: { access },
      schema: {
        hide: true,
        querystring: NoQuery,
        body: Type.Object({ document: Document }),
        response: { 200: ExportedPersonView, ...problems(401, 403, 422) },
      },
    },
    async (request) => {
      const document = toBare(request.body.document)
      return await exportPerson(deps, { document, by: byUser(userOf(request)) })
    },
  )

  app.post(
    '/dashboard/api/person/erasure',
    {
      config: { access },
      schema: {
        hide: true,
        querystring: NoQuery,
        body: Type.Object({ document: Document, confirm: Document }),
        response: { 200: ErasedPersonView, ...problems(401, 403, 422) },
      },
    },
    async (request) => {
      const document = toBare(request.body.document)
      if (toBare(request.body.confirm) !== document)
        throw invalidField('confirm', 'invalid', 'must be the same document again')
      return await erasePerson(deps, { document, by: byUser(userOf(request)) })
    },
  )
}

function toBare(text: string): string {
  const document = parseDocument(text)
  if (!document) throw invalidField('document', 'invalid', 'must be a CPF or CNPJ')
  return document.value
}

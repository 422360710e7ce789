import { Type } from 'typebox'
import { type Acquirer, type CallbackNotice, UnreadableCallback } from '../acquirers/acquirer.ts'
import type { Acquirers } from '../acquirers/registry.ts'
import type { Server } from '../http/server.ts'
import { AppError } from '../lib/errors.ts'
import type { SecretKey } from '../lib/secrets.ts'
import { isCallbackSecret } from './path.ts'
import { type ReceiveDeps, receiveCallback } from './receive.ts'

/** A PSP may put many payments into one callback. */
const bodyBytesMax = 1024 * 1024

export type CallbackRoutesDeps = ReceiveDeps & { key: SecretKey; acquirers: Acquirers }

/** Where acquirers tell of payments: with or without the standard's suffix `/pix`. Not part of the shops' API. */
export function registerCallbackRoutes(app: Server, deps: CallbackRoutesDeps): void {
  const params = Type.Object({ acquirer: Type.String(), secret: Type.String() })
  for (const url of ['/callbacks/:acquirer/:secret', '/callbacks/:acquirer/:secret/pix']) {
    app.post(
      url,
      {
        config: { access: { public: true } },
        bodyLimit: bodyBytesMax,
        // Before the body is read: who does not know the address sends us nothing.
        onRequest: async (request) => {
          findAcquirer(deps, request.params)
        },
        schema: { hide: true, params, body: Type.Unknown() },
      },
      async (request, reply) => {
        const acquirer = findAcquirer(deps, request.params)
        await receiveCallback(deps, { acquirer: acquirer.name, notices: readNotices(acquirer, request.body) })
        return await reply.code(200).send()
      },
    )
  }
}

function findAcquirer(
  { acquirers, key }: CallbackRoutesDeps,
  { acquirer: name, secret }: { acquirer: string; secret: string },
): Acquirer {
  const acquirer = acquirers.get(name)
  if (!acquirer || !isCallbackSecret(key, name, secret)) throw new AppError('not_found')
  return acquirer
}

function readNotices(acquirer: Acquirer, body: unknown): CallbackNotice[] {
  try {
    return acquirer.readCallback(body)
  } catch (error) {
    if (!(error instanceof UnreadableCallback)) throw error
    throw new AppError('validation_failed', { detail: `The callback cannot be read: ${error.message}`, cause: error })
  }
}

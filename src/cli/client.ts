import { randomUUID } from 'node:crypto'
import { type Command, InvalidArgumentError } from 'commander'
import { findKnownClient, revokeClient, unknownClient } from '../auth/clients.ts'
import { parseScopes, type Scope, scopes } from '../auth/scopes.ts'
import { listClients } from '../auth/store.ts'
import { createClient, rotateSecret, toClientView } from '../operator/clients.ts'
import { moveClient } from '../operator/moves.ts'
import { toId, toShortText } from './arguments.ts'
import { byOf, type Context, withContext } from './context.ts'
import { print } from './print.ts'

type Json = { json?: boolean }

/** `guiche client …`: API clients. Secrets are shown only once. */
export function clientCommands(program: Command): void {
  const client = program.command('client')

  client
    .command('create')
    .description('register a client and show its secrets once')
    .requiredOption('--name <name>', 'display name', toShortText)
    .option('--scopes <scopes>', `comma-separated list of ${scopes.join(', ')} (default: all)`, toScopes)
    .option(
      '--client-id <id>',
      'your own identifier, such as the client’s id at an external identity provider',
      toClientId,
    )
    .option('--json', 'print JSON')
    .action(
      async ({
        json,
        name,
        scopes: granted = [...scopes],
        clientId,
      }: Json & { name: string; scopes?: Scope[]; clientId?: string }) => {
        const made = await withContext(async (context) => {
          if (clientId === undefined && context.hasProvider)
            throw new Error("AUTH_ISSUER is set: pass --client-id <id>, the client's id at the identity provider.")
          return await createClient(context, { name, scopes: granted, clientId, by: byOf(program) })
        })
        print(made, { json, note: 'Store the secrets now: they are not shown again.' })
      },
    )

  client
    .command('list')
    .description('list the clients')
    .option('--json', 'print JSON')
    .action(async ({ json }: Json) => {
      const rows = await withContext(async ({ db, clock }) => await listClients(db, clock.now()))
      const clients = rows.map(toClientView)
      print(clients, {
        json,
        shown: clients.map(({ clientId, name, isActive, merchantId, createdAt, tokensRefusedBefore, ...more }) => {
          const state = isActive ? 'active' : 'revoked'
          const movedTo = more.movedTo && `${more.movedTo.cell} ${more.movedTo.address}`
          return { clientId, name, state, movedTo, merchantId, createdAt, tokensRefusedBefore, scopes: more.scopes }
        }),
      })
    })

  client
    .command('move <client-id>')
    .description('refuse new charges of a merchant that has moved to another cell; the refusal has its address there')
    .requiredOption('--to <cell>', 'the other cell, which is a separate installation')
    .requiredOption(
      '--address <url>',
      'the base URL of that cell, which the merchant’s program uses from now on',
      toAddress,
    )
    .option('--json', 'print JSON')
    .action(async (clientId: string, { json, to: cell, address }: Json & { to: string; address: string }) => {
      const moving = { clientId, to: { cell, address }, by: byOf(program) }
      await withContext(async (context) => await moveClient(context, moving))
      print(
        { clientId, movedTo: { cell, address } },
        {
          json,
          shown: { clientId, cell, address },
          note: 'Existing records stay here. `npx guiche ledger move-out` proposes the transfer of the balance.',
        },
      )
    })

  client
    .command('move-back <client-id>')
    .description('accept new charges of a merchant here again')
    .option('--json', 'print JSON')
    .action(async (clientId: string, { json }: Json) => {
      await withContext(async (context) => await moveClient(context, { clientId, to: null, by: byOf(program) }))
      print({ clientId, movedTo: null }, { json })
    })

  client
    .command('rotate-secret <client-id>')
    .description('make a new secret; the former one stays valid during the overlap')
    .option('--overlap-hours <hours>', 'how long the former secret stays valid', toHours, 24)
    .option(
      '--id <id>',
      'a UUID for this rotation. If no secret was shown, repeat the command with it: that revokes only the new secret that was not shown',
      toId,
    )
    .option('--webhook', 'rotate the secret that signs webhooks instead of the client secret')
    .option('--json', 'print JSON')
    .action(
      async (
        clientId: string,
        {
          json,
          id = randomUUID(),
          overlapHours,
          webhook,
        }: Json & { id?: string; overlapHours: number; webhook?: boolean },
      ) => {
        const { secret, formerExpiresAt } = await withContext(async (context) => {
          const known = await findKnownClient(context, clientId)
          const of = webhook ? 'webhook' : 'client'
          // Without this id, a repeated command would rotate again. A caller with --json passes its own --id.
          if (!json) process.stderr.write(`If no secret is shown, repeat the command with --id ${id}.\n`)
          return await rotateSecret(context, { client: known, of, id, overlapHours, by: byOf(program) })
        })
        const made = { ...(webhook ? { webhookSecret: secret } : { clientSecret: secret }), formerExpiresAt }
        print(
          { clientId, ...made },
          { json, note: `Store it now: it is not shown again. No former secret is valid after ${formerExpiresAt}.` },
        )
      },
    )

  client
    .command('revoke <client-id>')
    .description('revoke all tokens and client secrets; rotate-secret enables the client again')
    .option('--tokens-only', 'revoke only the tokens issued so far; the client secrets stay valid')
    .option('--json', 'print JSON')
    .action(async (clientId: string, { json, tokensOnly }: Json & { tokensOnly?: boolean }) => {
      const isDone = await withContext(async (context) => {
        return await revokeClient(context, { clientId, tokensOnly: tokensOnly ?? false, by: byOf(program) })
      })
      if (!isDone) throw unknownClient()
      print(
        { clientId, revoked: tokensOnly ? 'tokens' : 'tokens and client secrets' },
        {
          json,
          note: tokensOnly
            ? 'It can get new tokens with its current secrets.'
            : `\`npx guiche client rotate-secret ${clientId}\` gives it a new secret and enables it again.`,
        },
      )
    })
}

/** @throws if the client does not exist, with what to do about it */
export async function findMerchant({ db, clock }: Context, clientId: string): Promise<string> {
  return (await findKnownClient({ db, clock }, clientId)).merchant_id
}

function toAddress(text: string): string {
  if (!URL.canParse(text) || !/^https?:\/\//.test(text) || text.length > 200)
    throw new InvalidArgumentError('An http or https URL of at most 200 characters, such as https://b.pay.example.com.')
  return text.replace(/\/+$/, '')
}

function toClientId(text: string): string {
  if (!/^[\w.:@-]{3,128}$/.test(text)) throw new InvalidArgumentError('3 to 128 letters, digits and . : @ _ -')
  return text
}

function toScopes(text: string): Scope[] {
  const parsed = parseScopes(text)
  if (!parsed || parsed.length === 0) throw new InvalidArgumentError(`Valid scopes: ${scopes.join(', ')}.`)
  return parsed
}

function toHours(text: string): number {
  const hours = text.trim() === '' ? Number.NaN : Number(text)
  if (!Number.isFinite(hours) || hours < 0 || hours > 24 * 90)
    throw new InvalidArgumentError('A number from 0 to 2160.')
  return hours
}

import type { Command } from 'commander'
import type { ActionName } from '../audit/actions.ts'
import { recordAction } from '../audit/record.ts'
import { findClient } from '../auth/store.ts'
import type { Tx } from '../db/sql.ts'
import { invite, toInvitationUrl } from '../users/invite.ts'
import { changeUser, resetUser } from '../users/manage.ts'
import { merchantRoles, operatorRoles } from '../users/roles.ts'
import { findUserByEmail, listUsers, type UserRow } from '../users/store.ts'
import { byOf } from './actor.ts'
import { type Context, withContext } from './context.ts'
import { print } from './print.ts'

type Json = { json?: boolean }

const linkNote = 'The link works once, within three days. Send it over a private channel.'

/** `guiche user …`: dashboard users. */
export function userCommands(program: Command): void {
  const user = program.command('user').description('dashboard users')

  user
    .command('list')
    .description('list the users')
    .option('--json', 'print JSON')
    .action(async ({ json }: Json) => {
      await withContext(async ({ db }) => {
        const users = (await listUsers(db, null)).map((row) => ({
          email: row.email,
          name: row.name,
          role: row.role,
          client: row.client_id,
          secondFactor: row.totp_locked_at !== null ? 'locked' : row.is_totp_confirmed ? 'yes' : 'no',
          state: row.disabled_at === null ? 'active' : 'disabled',
          seenAt: row.seen_at,
        }))
        const empty =
          'none yet: `npx guiche user invite --email <address> --role admin` prints a link for the first user'
        print(users, { json, empty })
      })
    })

  user
    .command('invite')
    .description('invite a user: print a link for signing up')
    .requiredOption('--email <address>', 'address of the new user')
    .requiredOption(
      '--role <role>',
      `${operatorRoles.join(', ')}; of a merchant's users (--client): ${merchantRoles.join(', ')}`,
    )
    .option('--client <id>', 'API client of the user’s merchant (default: the user is the operator’s)')
    .option('--json', 'print JSON')
    .action(async ({ json, email, role, client }: Json & { email: string; role: string; client?: string }) => {
      await withContext(async (context) => {
        const merchantId = client === undefined ? null : await findMerchantId(context, client)
        const now = context.clock.now()
        const token = await context.db.transaction(async (tx) => {
          await recordAction(tx, { by: byOf(program), action: 'user.invite', merchantId, details: { role }, now })
          return await invite(tx, { email, merchantId, role, invitedBy: null }, now)
        })
        print({ url: toInvitationUrl(context.baseUrl, token) }, { json, note: linkNote })
      })
    })

  user
    .command('reset')
    .description('reset a password: print a link for choosing a new one; ends all sessions')
    .requiredOption('--email <address>', 'address of the user')
    .option('--second-factor', 'also remove the second factor')
    .option('--json', 'print JSON')
    .action(async ({ json, email, secondFactor }: Json & { email: string; secondFactor?: boolean }) => {
      await change(program, { email, action: 'user.reset' }, async (tx, known, { baseUrl, clock }) => {
        const reset = { forgetsFactor: secondFactor ?? false, invitedBy: null, now: clock.now() }
        const token = await resetUser(tx, known, reset)
        return () => print({ url: toInvitationUrl(baseUrl, token) }, { json, note: linkNote })
      })
    })

  for (const [name, isDisabled, description] of [
    ['disable', true, 'disable a user immediately'],
    ['enable', false, 'enable a user again'],
  ] as const) {
    user
      .command(name)
      .description(description)
      .requiredOption('--email <address>', 'address of the user')
      .option('--json', 'print JSON')
      .action(async ({ json, email }: Json & { email: string }) => {
        await change(program, { email, action: `user.${name}` }, async (tx, known, { clock }) => {
          await changeUser(tx, { id: known.id, ofMerchant: null }, { isDisabled }, clock.now())
          return () => print({ email: known.email, state: isDisabled ? 'disabled' : 'active' }, { json })
        })
      })
  }
}

/** Changes a user and writes the audit entry in one commit, then prints the result. */
async function change(
  program: Command,
  { email, action }: { email: string; action: ActionName },
  work: (tx: Tx, user: UserRow, context: Context) => Promise<() => void>,
): Promise<void> {
  await withContext(async (context) => {
    const known = await findUserByEmail(context.db, email.toLowerCase())
    if (!known) throw new Error(`There is no user with the address ${email}. \`guiche user list\` lists all.`)
    const about = { action, merchantId: known.merchant_id, recordId: known.id, now: context.clock.now() }
    const show = await context.db.transaction(async (tx) => {
      await recordAction(tx, { ...about, by: byOf(program) })
      return await work(tx, known, context)
    })
    show()
  })
}

async function findMerchantId({ db, clock }: Context, clientId: string): Promise<string> {
  const client = await findClient(db, clientId, clock.now())
  if (!client) throw new Error(`There is no client ${clientId}. \`guiche client list\` lists all.`)
  return client.merchant_id
}

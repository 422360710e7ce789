import { Ajv } from 'ajv'
import { type Command, InvalidArgumentError } from 'commander'
import { addOurFormats } from '../http/formats.ts'
import { changeUser, inviteUser, type Manager, resetUser, unlinkUser } from '../users/manage.ts'
import { merchantRoles, operatorRoles } from '../users/roles.ts'
import { Email, toUserView } from '../users/schema.ts'
import { findUserByEmail, listUsers } from '../users/store.ts'
import { findMerchant } from './client.ts'
import { byOf, type Context, withContext } from './context.ts'
import { print } from './print.ts'

type Json = { json?: boolean }

const linkNote = 'The link works once, within three days. Send it over a private channel.'

/** `guiche user …`: dashboard users. */
export function userCommands(program: Command): void {
  const user = program.command('user')
  const manager = (): Manager => ({ by: byOf(program), userId: null, merchantId: null })

  user
    .command('list')
    .description('list the users')
    .option('--json', 'print JSON')
    .action(async ({ json }: Json) => {
      const users = (await withContext(async ({ db }) => await listUsers(db, null))).map(toUserView)
      const empty = 'none yet: `npx guiche user invite --email <address> --role admin` prints a link for the first user'
      print(users, { json, shown: users.map(toLine), empty })
    })

  user
    .command('invite')
    .description('invite a user: print a link for signing up')
    .requiredOption('--email <address>', 'address of the new user', toEmail)
    .requiredOption(
      '--role <role>',
      `${operatorRoles.join(', ')}; of a merchant's users (--client): ${merchantRoles.join(', ')}`,
    )
    .option('--client <id>', 'API client of the user’s merchant (default: the user is the operator’s)')
    .option('--json', 'print JSON')
    .action(async ({ json, email, role, client }: Json & { email: string; role: string; client?: string }) => {
      const link = await withContext(async (context) => {
        const merchantId = client === undefined ? null : await findMerchant(context, client)
        return await inviteUser(context, { email, role, merchantId }, manager())
      })
      print(link, { json, note: linkNote })
    })

  user
    .command('reset')
    .description('reset a password: print a link for choosing a new one; ends all sessions')
    .requiredOption('--email <address>', 'address of the user')
    .option('--second-factor', 'also remove the second factor')
    .option('--json', 'print JSON')
    .action(async ({ json, email, secondFactor }: Json & { email: string; secondFactor?: boolean }) => {
      const link = await withContext(async (context) => {
        const id = await findId(context, email)
        return await resetUser(context, { id, secondFactor: secondFactor ?? false }, manager())
      })
      print(link, { json, note: linkNote })
    })

  user
    .command('unlink')
    .description('separate a user from the person at the identity provider (OIDC_ISSUER); ends all sessions')
    .requiredOption('--email <address>', 'address of the user')
    .option('--json', 'print JSON')
    .action(async ({ json, email }: Json & { email: string }) => {
      await withContext(async (context) => {
        await unlinkUser(context, { id: await findId(context, email) }, manager())
      })
      const note = 'The next person whom the provider names with this verified address becomes this user.'
      print({ email, isLinked: false }, { json, note })
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
        const changed = await withContext(async (context) => {
          return await changeUser(context, { id: await findId(context, email), isDisabled }, manager())
        })
        print(changed, { json, shown: { email: changed.email, state: stateOf(changed) } })
      })
  }
}

async function findId({ db }: Context, email: string): Promise<string> {
  const known = await findUserByEmail(db, email.toLowerCase())
  if (!known) throw new Error(`There is no user with the address ${email}. \`npx guiche user list\` lists all.`)
  return known.id
}

type View = ReturnType<typeof toUserView>

function toLine(user: View) {
  const { email, name, role, merchant, seenAt } = user
  const ownFactor = user.isFactorLocked ? 'locked' : user.hasSecondFactor ? 'yes' : 'no'
  const secondFactor = user.hasPassword ? ownFactor : 'at the provider'
  return { email, name, role, client: merchant?.clientId, secondFactor, state: stateOf(user), seenAt }
}

function stateOf({ isDisabled }: View): string {
  return isDisabled ? 'disabled' : 'active'
}

function toEmail(text: string): string {
  const ajv = new Ajv()
  addOurFormats(ajv)
  // The sign-in checks addresses with the same schema: a user with any other address could not sign in.
  if (!ajv.validate(Email, text)) throw new InvalidArgumentError('An e-mail address such as ana@example.com.')
  return text
}

import type { AccountHolder } from '../../pix/holder.ts'
import { type AccountBalance, AcquirerUnavailable } from '../acquirer.ts'
import type { Client } from './client.ts'
import type { ProtocolProfile } from './profile.ts'
import { type Json, record } from './read.ts'

type Deps = { client: Client; paths: ProtocolProfile['paths']; receiver: AccountHolder }

type FormName = Exclude<ProtocolProfile['offers']['balance'], 'none'>

/** How a PSP reports the balance of the account: the standard has no request for it. */
type Form = { toQuery: (account: AccountHolder) => Record<string, string>; read: (body: Json) => AccountBalance | null }

export const balanceForms: Record<FormName, Form> = {
  // `GET /v2/gn/saldo?bloqueios=true`: { saldo, bloqueios: { judicial, med, total } }, each a text such as "100.00".
  efi: {
    toQuery: () => ({ bloqueios: 'true' }),
    read(body) {
      const blocked = record(body, 'bloqueios')
      return toBalance({
        available: readAmount(body, 'saldo'),
        blocked: readAmount(blocked, 'total'),
        disputed: readAmount(blocked, 'med'),
      })
    },
  },
  // `GET /banking/v2/saldo`: numbers. There is no field for disputes; they may be in bloqueadoAdministrativo.
  inter: {
    toQuery: () => ({}),
    read(body) {
      const blocks = ['bloqueadoCheque', 'bloqueadoJudicialmente', 'bloqueadoAdministrativo'].map((name) =>
        readAmount(body, name),
      )
      const isWhole = blocks.every((block) => block !== null)
      const blocked = isWhole ? blocks.reduce((sum, block) => sum + block, 0) : null
      return toBalance({ available: readAmount(body, 'disponivel'), blocked, disputed: undefined })
    },
  },
  // `GET /conta-corrente/v4/saldo?numeroContaCorrente=`: numbers.
  sicoob: {
    toQuery: ({ bankAccount }) => ({
      numeroContaCorrente: `${bankAccount.number}${bankAccount.digit}`.replace(/\D/g, ''),
    }),
    read: (body) =>
      toBalance({
        available: readAmount(body, 'saldo'),
        blocked: readAmount(body, 'saldoBloqueado'),
        disputed: undefined,
      }),
  },
}

/** Null where the PSP's API does not report the balance. */
export function createReadBalance(
  deps: Deps,
  form: ProtocolProfile['offers']['balance'],
): (() => Promise<AccountBalance>) | null {
  return form === 'none' ? null : () => readBalance(deps, balanceForms[form])
}

async function readBalance({ client, paths, receiver }: Deps, { toQuery, read }: Form): Promise<AccountBalance> {
  const answer = await client({ method: 'GET', path: paths.balance, query: toQuery(receiver) })
  if (!answer.ok) throw new AcquirerUnavailable(`The acquirer refused to report the balance: ${answer.reason}`)
  const balance = read(answer.body)
  if (balance) return balance
  throw new AcquirerUnavailable('The acquirer answered with a balance that cannot be read')
}

/** Null where a part that the PSP always reports cannot be read; `undefined` is what it never reports. */
export function toBalance(parts: {
  available: number | null
  blocked: number | null | undefined
  disputed: number | null | undefined
}): AccountBalance | null {
  const { available, blocked, disputed } = parts
  if (available === null || blocked === null || disputed === null) return null
  return { available, blocked: blocked ?? null, disputed: disputed ?? null }
}

/** Like `amount` of read.ts, but a balance may be negative. */
export function readAmount(parent: Json, name: string): number | null {
  const value = parent[name]
  const written = typeof value === 'number' ? String(value) : value
  const [, sign, reais, decimals = ''] =
    /^(-?)(\d{1,10})(?:\.(\d{1,2}))?$/.exec(typeof written === 'string' ? written : '') ?? []
  if (reais === undefined) return null
  const cents = Number(reais) * 100 + Number(decimals.padEnd(2, '0'))
  return sign === '-' ? 0 - cents : cents
}

import { type AccountBalance, AcquirerUnavailable } from '../acquirer.ts'
import type { Client } from './client.ts'
import type { Manner } from './manner.ts'
import { type Json, record } from './read.ts'

type Deps = { client: Client; paths: Manner['paths'] }

/** How a PSP tells the balance of the account: the standard has no question for it. */
type Form = { query: Record<string, string>; read: (body: Json) => AccountBalance | null }

const forms: Record<Exclude<Manner['offers']['balance'], 'none'>, Form> = {
  // `GET /v2/gn/saldo?bloqueios=true`: { saldo, bloqueios: { judicial, med, total } }, each a text such as "100.00".
  efi: {
    query: { bloqueios: 'true' },
    read(body) {
      const blocked = record(body, 'bloqueios')
      return toBalance({
        available: readAmount(body, 'saldo'),
        blocked: readAmount(blocked, 'total'),
        disputed: readAmount(blocked, 'med'),
      })
    },
  },
}

/** Null where the PSP's API does not tell it. */
export function createReadBalance(
  deps: Deps,
  form: Manner['offers']['balance'],
): (() => Promise<AccountBalance>) | null {
  return form === 'none' ? null : () => readBalance(deps, forms[form])
}

async function readBalance({ client, paths }: Deps, { query, read }: Form): Promise<AccountBalance> {
  const answer = await client({ method: 'GET', path: paths.balance, query })
  if (!answer.ok) throw new AcquirerUnavailable(`The acquirer refused to tell its balance: ${answer.reason}`)
  const balance = read(answer.body)
  if (balance) return balance
  throw new AcquirerUnavailable('The acquirer answered with a balance that cannot be read')
}

/** Null where a part that the PSP always tells cannot be read; `undefined` is what it never tells. */
export function toBalance(parts: {
  available: number | null
  blocked: number | null | undefined
  disputed: number | null | undefined
}): AccountBalance | null {
  const { available, blocked, disputed } = parts
  if (available === null || blocked === null || disputed === null) return null
  return { available, blocked: blocked ?? null, disputed: disputed ?? null }
}

/** Like `amount` of read.ts, but an account may be below zero. */
export function readAmount(parent: Json, name: string): number | null {
  const value = parent[name]
  const written = typeof value === 'number' ? String(value) : value
  const [, sign, reais, decimals = ''] =
    /^(-?)(\d{1,10})(?:\.(\d{1,2}))?$/.exec(typeof written === 'string' ? written : '') ?? []
  if (reais === undefined) return null
  const cents = Number(reais) * 100 + Number(decimals.padEnd(2, '0'))
  return sign === '-' ? 0 - cents : cents
}

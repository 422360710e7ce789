import { type HttpResponse, json } from './http.ts'
import type { Network } from './network.ts'
import { sumAccount } from './store.ts'

/**
 * `GET /v2/gn/saldo?bloqueios=true`, as in Efí's documentation and SDKs: `saldo` is what may be used, and blocked money
 * is not part of it. Without `bloqueios=true` only `saldo` is returned.
 */
export async function getBalance(network: Network, query: Record<string, string>): Promise<HttpResponse> {
  const { held, med } = await readAccount(network)
  const saldo = formatReais(held - med)
  if (query.bloqueios !== 'true') return json(200, { saldo })
  return json(200, { saldo, bloqueios: { judicial: '0.00', med: formatReais(med), total: formatReais(med) } })
}

/** `GET /banking/v2/saldo` of Inter: numbers, and three kinds of blocks. None of them is named MED. */
export async function getInterBalance(network: Network): Promise<HttpResponse> {
  const { held, med } = await readAccount(network)
  return json(200, {
    disponivel: (held - med) / 100,
    bloqueadoCheque: 0,
    bloqueadoJudicialmente: 0,
    bloqueadoAdministrativo: med / 100,
    limite: 0,
  })
}

/** `GET /conta-corrente/v4/saldo` of Sicoob. */
export async function getSicoobBalance(network: Network): Promise<HttpResponse> {
  const { held, med } = await readAccount(network)
  return json(200, { saldo: (held - med) / 100, saldoLimite: 0, saldoBloqueado: med / 100 })
}

async function readAccount({ pool, clock, quirks }: Network): Promise<{ held: number; med: number }> {
  const { held, disputed } = await sumAccount(pool, {
    now: clock.now(),
    feeBasisPoints: quirks.feeBasisPoints ?? 0,
  })
  return { held, med: Math.max(0, Math.min(held, disputed)) }
}

function formatReais(cents: number): string {
  const whole = Math.abs(cents)
  return `${cents < 0 ? '-' : ''}${Math.floor(whole / 100)}.${String(whole % 100).padStart(2, '0')}`
}

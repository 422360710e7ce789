import { type HttpResponse, json } from './http.ts'
import type { Network } from './network.ts'
import { sumAccount } from './store.ts'

/**
 * `GET /v2/gn/saldo?bloqueios=true`, as Efí's documentation and its SDKs have it: `saldo` is what may be used, and what is blocked comes on top.
 * Without `bloqueios=true` only the first is told.
 */
export async function getBalance(network: Network, query: Record<string, string>): Promise<HttpResponse> {
  const { held, contested } = await sumAccount(network.pool, {
    now: network.clock.now(),
    feeBasisPoints: network.quirks.feeBasisPoints ?? 0,
  })
  const med = Math.max(0, Math.min(held, contested))
  const saldo = write(held - med)
  if (query.bloqueios !== 'true') return json(200, { saldo })
  return json(200, { saldo, bloqueios: { judicial: '0.00', med: write(med), total: write(med) } })
}

function write(cents: number): string {
  const whole = Math.abs(cents)
  return `${cents < 0 ? '-' : ''}${Math.floor(whole / 100)}.${String(whole % 100).padStart(2, '0')}`
}

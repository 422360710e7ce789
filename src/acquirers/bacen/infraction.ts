import type { InfractionFound, Infractions, Range } from '../acquirer.ts'
import type { Manner } from './manner.ts'
import { type ListDeps, listBetween } from './pages.ts'
import { amount, dateTime, isRecord, text } from './read.ts'

type Deps = ListDeps & { paths: Manner['paths'] }

/** Contests of payments (MED) as Efí tells of them: the standard tells of none. */
export function createInfractions(deps: Deps): Infractions {
  return { list: (range) => listInfractions(deps, range) }
}

/** `GET /v2/gn/infracoes`, all pages. One that cannot be read is never passed over: it is money. */
async function* listInfractions({ paths, ...deps }: Deps, range: Range): AsyncIterable<InfractionFound> {
  yield* listBetween(deps, { path: paths.infractions, member: 'infracoes', range, read: readInfraction })
}

function readInfraction(entry: unknown): InfractionFound | null {
  if (!isRecord(entry)) return null
  const reference = text(entry, 'idInfracao') ?? text(entry, 'protocolo')
  const endToEndId = text(entry, 'endToEndId')
  const contested = amount(entry, 'valor')
  const openedAt = dateTime(entry, 'dataCriacao') ?? dateTime(entry, 'dataUltimaModificacao')
  if (!reference || !endToEndId || contested === null || !openedAt) return null
  const state = readState(text(entry, 'status'))
  return { reference, endToEndId, amount: contested, reason: text(entry, 'razao'), state, openedAt }
}

/** A state that is not known counts as open: until it is certain that the contest has ended, the money stays blocked. */
function readState(status: string | null): InfractionFound['state'] {
  return states[status?.toLowerCase() ?? ''] ?? 'open'
}

const states: Record<string, InfractionFound['state']> = {
  aberta: 'open',
  'em defesa': 'open',
  aceita: 'accepted',
  devolvida: 'returned',
  rejeitada: 'rejected',
  cancelada: 'canceled',
}

import type { Clock } from '../../lib/clock.ts'
import {
  AcquirerUnavailable,
  type DisputeFound,
  type Disputes,
  NotOffered,
  type OnUnreadable,
  type Range,
} from '../acquirer.ts'
import { switchedOff } from './client.ts'
import { sendDefence } from './defence.ts'
import { type ListDeps, listBetween } from './pages.ts'
import type { ProtocolProfile } from './profile.ts'
import { amount, count, dateTime, isRecord, type Json, record, text } from './read.ts'

type Deps = ListDeps & { paths: ProtocolProfile['paths']; clock: Clock }

/** Disputes (MED) as Efí lists them: the standard API has none. */
export function createDisputes(deps: Deps, { defences }: Pick<ProtocolProfile['offers'], 'defences'>): Disputes {
  return {
    list: (range) => listDisputes(deps, range),
    defend: defences ? async (input) => await sendDefence(deps, input) : null,
  }
}

/** `GET /v2/gn/infracoes`, all pages. An unreadable one is never skipped: it is money. */
async function* listDisputes(
  { paths, ...deps }: Deps,
  { onUnreadable, ...range }: Range & OnUnreadable,
): AsyncIterable<DisputeFound> {
  try {
    yield* listBetween(deps, {
      path: paths.disputes,
      field: 'infracoes',
      range,
      read: readDispute,
      referenceOf,
      ...(onUnreadable && { onUnreadable }),
    })
  } catch (error) {
    if (error instanceof AcquirerUnavailable && switchedOff.test(error.message))
      throw new NotOffered('The acquirer lists no disputes in this environment', { cause: error })
    throw error
  }
}

function referenceOf(entry: Json): string | null {
  return text(entry, 'idInfracao') ?? text(entry, 'protocolo') ?? count(entry, 'protocolo')?.toString() ?? null
}

function readDispute(entry: unknown): DisputeFound | null {
  if (!isRecord(entry)) return null
  const reference = referenceOf(entry)
  const endToEndId = text(entry, 'endToEndId')
  const disputed = amount(entry, 'valor')
  const analysis = record(entry, 'dadosAnalise')
  // `dataCriacao` and `dataUltimaModificacao` are the names in an older version of the list.
  const dates = ['criadoEm', 'dataCriacao', 'atualizadoEm', 'dataUltimaModificacao'].map((name) =>
    dateTime(entry, name),
  )
  const openedAt = dateTime(analysis, 'abertura') ?? dates.find((date) => date !== null)
  if (!reference || !endToEndId || disputed === null || !openedAt) return null
  const status = text(entry, 'status')
  return {
    reference,
    endToEndId,
    amount: disputed,
    reason: text(entry, 'tipoSituacao') ?? text(entry, 'razao'),
    state: readState(status),
    status,
    openedAt,
    deadline: dateTime(analysis, 'prazoFinalizacao'),
  }
}

/** Compares the beginning of the word: the documentation has `CANCELADA_EFI`. Any other word is unknown. */
function readState(status: string | null): DisputeFound['state'] {
  const word = status?.toLowerCase().replace(/[\s-]+/g, '_') ?? ''
  return states.find(([beginning]) => word.startsWith(beginning))?.[1] ?? 'unknown'
}

const states: [string, DisputeFound['state']][] = [
  ['abert', 'open'],
  ['em_defesa', 'open'],
  ['em_analise', 'open'],
  ['aceit', 'accepted'],
  ['devolvid', 'returned'],
  ['rejeitad', 'rejected'],
  ['cancelad', 'canceled'],
]

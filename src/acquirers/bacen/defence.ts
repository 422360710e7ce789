import type { Clock } from '../../lib/clock.ts'
import type { DefenceFile, DefenceInput, DefenceOutcome } from '../acquirer.ts'
import type { Answer, Client } from './client.ts'
import type { ProtocolProfile } from './profile.ts'
import { dateTime, text } from './read.ts'

type Deps = { client: Client; paths: ProtocolProfile['paths']; clock: Clock }

/**
 * `PUT {paths.disputes}/{reference}/defesa/{defenceId}`. Its files are sent first, one request each, so that only one
 * file is in memory and each has the time-out of a request. No standard defines these requests; their form is the
 * simulator's. The ids of the defence and its files are ours, so repeating a PUT has no further effect.
 */
export async function sendDefence(deps: Deps, input: DefenceInput): Promise<DefenceOutcome> {
  const path = `${deps.paths.disputes}/${encodeURIComponent(input.reference)}/defesa/${input.defenceId}`
  for (const file of input.files) {
    const answer = await sendFile(deps, path, file)
    if (!answer.ok) return { outcome: 'refused', reason: answer.reason }
  }
  const body = { justificativa: input.text, arquivos: input.files.map(({ id }) => id) }
  const answer = await deps.client({ method: 'PUT', path, body })
  if (!answer.ok) return { outcome: 'refused', reason: answer.reason }
  const at = dateTime(answer.body, 'recebidaEm') ?? deps.clock.now()
  return { outcome: 'received', reference: text(answer.body, 'protocolo'), at }
}

async function sendFile(
  { client }: Deps,
  path: string,
  { id, name, type, sha256, read }: DefenceFile,
): Promise<Answer> {
  const conteudo = (await read()).toString('base64')
  const body = { nome: name, tipo: type, sha256, conteudo }
  return await client({ method: 'PUT', path: `${path}/arquivos/${id}`, body })
}

import { createHash } from 'node:crypto'
import Type from 'typebox'
import { Compile } from 'typebox/compile'
import { hasForbiddenCharacters } from '../src/lib/text.ts'
import { type DefenceRow, findDefenceOf, insertDefence, insertDefenceFile, listDefenceFiles } from './defences-store.ts'
import { analysisMs } from './disputes-list.ts'
import { lockDispute } from './disputes-store.ts'
import { type HttpRequest, type HttpResponse, json, parseJson, problem, type Violation } from './http.ts'
import type { Network } from './network.ts'
import { inTransaction } from './transaction.ts'

/** The shortest text, in characters. A person at the bank cannot decide on less. */
const textMin = 20
const textMax = 5000
const filesMax = 10
const fileBytesMax = 5 * 1024 * 1024

const FileRequest = Compile(
  Type.Object({
    nome: Type.String({ minLength: 1, maxLength: 120 }),
    tipo: Type.Enum(['application/pdf', 'image/png', 'image/jpeg', 'image/webp', 'text/plain']),
    sha256: Type.String({ pattern: '^[0-9a-f]{64}$' }),
    conteudo: Type.String({ minLength: 1 }),
  }),
)
const DefenceRequest = Compile(
  Type.Object({
    justificativa: Type.String({ maxLength: textMax }),
    arquivos: Type.Array(Type.String({ maxLength: 36 }), { maxItems: filesMax }),
  }),
)

export type DefenceIds = { reference: string; defenceId: string }

/** `PUT /v2/gn/infracoes/{id}/defesa/{idDefesa}/arquivos/{idArquivo}`. A repeat under the same id stores nothing. */
export async function putDefenceFile(
  network: Network,
  ids: DefenceIds,
  file: string,
  request: HttpRequest,
): Promise<HttpResponse> {
  const body = parseJson(request.body)
  const { reference, defenceId } = toStored(ids)
  const fileId = file.toLowerCase()
  if (![reference, defenceId, fileId].every((id) => uuidShape.test(id))) return unknown()
  if (!FileRequest.Check(body)) return invalid('O arquivo não respeita o schema.', 'arquivo')
  if (hasForbiddenCharacters(body.nome)) return invalid('O nome contém caracteres de controle.', 'nome')
  const content = Buffer.from(body.conteudo, 'base64')
  if (content.length > fileBytesMax) return invalid('O arquivo tem mais de 5 MB.', 'conteudo')
  if (createHash('sha256').update(content).digest('hex') !== body.sha256)
    return invalid('O conteúdo não corresponde ao sha256.', 'sha256')
  const { nome: name, tipo: type } = body
  await insertDefenceFile(network.pool, { id: fileId, defenceId, name, type, content })
  return json(201, { idArquivo: fileId, tamanho: content.length })
}

/**
 * `PUT /v2/gn/infracoes/{id}/defesa/{idDefesa}`. A dispute has one defence. A repeat with the same `idDefesa` gets the
 * first response's body again; another `idDefesa`, or that of another dispute's defence, is refused.
 */
export async function putDefence(network: Network, ids: DefenceIds, request: HttpRequest): Promise<HttpResponse> {
  const body = parseJson(request.body)
  const { reference, defenceId } = toStored(ids)
  if (![reference, defenceId].every((id) => uuidShape.test(id))) return unknown()
  if (!DefenceRequest.Check(body)) return invalid('A defesa não respeita o schema.', 'defesa')
  if (hasForbiddenCharacters(body.justificativa.replace(/[\t\n\r]/g, '')))
    return invalid('A justificativa contém caracteres de controle.', 'justificativa')
  const now = network.clock.now()
  return await inTransaction(network.pool, async (client) => {
    const dispute = await lockDispute(client, reference)
    if (!dispute) return unknown()
    const existing = await findDefenceOf(client, reference)
    if (existing) {
      if (existing.id === defenceId) return json(200, toAnswer(existing))
      return problem('DefesaInvalida', 'A infração já tem uma defesa.')
    }
    if (dispute.state !== 'open') return problem('DefesaInvalida', 'A infração não está mais aberta.')
    if (now.getTime() > (dispute.deadlineAt?.getTime() ?? dispute.openedAt.getTime() + analysisMs))
      return problem('DefesaInvalida', 'O prazo para a defesa terminou.')
    if (body.justificativa.trim().length < textMin)
      return invalid(`A justificativa tem no mínimo ${textMin} caracteres.`, 'justificativa')
    const received = new Set(await listDefenceFiles(client, defenceId))
    const files = body.arquivos.map((id) => id.toLowerCase())
    if (!files.every((id) => received.has(id))) return invalid('Um arquivo não foi enviado.', 'arquivos')
    const row = { id: defenceId, disputeId: reference, text: body.justificativa, files, receivedAt: now }
    const inserted = await insertDefence(client, row)
    return inserted
      ? json(201, toAnswer(inserted))
      : problem('DefesaInvalida', 'O idDefesa já foi usado para outra infração.')
  })
}

/** The ids as PostgreSQL returns them. The case of a UUID has no meaning. */
function toStored({ reference, defenceId }: DefenceIds): DefenceIds {
  return { reference: reference.toLowerCase(), defenceId: defenceId.toLowerCase() }
}

function toAnswer({ id, protocol, receivedAt }: DefenceRow) {
  return { idDefesa: id, protocolo: String(protocol), recebidaEm: receivedAt.toISOString() }
}

function unknown(): HttpResponse {
  return problem('InfracaoNaoEncontrada', 'Nenhuma infração com o id informado.')
}

function invalid(razao: string, propriedade: string): HttpResponse {
  const violacoes: Violation[] = [{ razao, propriedade }]
  return problem('DefesaInvalida', razao, violacoes)
}

const uuidShape = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/

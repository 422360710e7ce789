import { type HttpRequest, type HttpResponse, json, parseJson, problem } from './http.ts'
import type { Network } from './network.ts'
import { receiverAccount, receiverKey } from './receiver-account.ts'
import { upsertWebhook } from './store.ts'
import { parseWebhookUrl } from './validate.ts'

/** `PUT /webhook/{chave}`: where callbacks about this key are posted, with `/pix` appended. */
export async function putWebhook(network: Network, chave: string, request: HttpRequest): Promise<HttpResponse> {
  if (chave !== receiverKey) {
    const razao = 'O parâmetro chave não corresponde a uma chave DICT pertencente a este usuário recebedor.'
    return problem('WebhookOperacaoInvalida', razao, [{ razao, propriedade: 'chave' }])
  }
  const url = parseWebhookUrl(parseJson(request.body))
  if (url === null) {
    const razao = 'Campo webhook.webhookUrl não respeita o schema.'
    return problem('WebhookOperacaoInvalida', razao, [{ razao, propriedade: 'webhook.webhookUrl' }])
  }
  await upsertWebhook(network.pool, { chave, url, createdAt: network.clock.now() })
  return { status: 200, headers: {}, body: '' }
}

/** `GET /webhook/{chave}` */
export async function getWebhook(network: Network, chave: string): Promise<HttpResponse> {
  const webhook = chave === receiverKey ? await network.findWebhook(chave) : null
  if (!webhook) return problem('WebhookNaoEncontrado', 'Não há webhook estabelecido para a chave informada.')
  const { url: webhookUrl, createdAt } = webhook
  return json(200, { webhookUrl, chave, cnpj: receiverAccount.document, criacao: createdAt.toISOString() })
}

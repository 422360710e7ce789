import { payoutWebhookKey } from './callbacks.ts'
import { type HttpRequest, type HttpResponse, json, parseJson, problem } from './http.ts'
import type { Network } from './network.ts'
import { receiverAccount, receiverKey } from './receiver-account.ts'
import { findWebhook, upsertWebhook } from './store.ts'
import { parseWebhookUrl } from './validate.ts'

/**
 * `PUT /webhook/{chave}`: registers the address for callbacks about this key. They are sent to it with `/pix` appended,
 * unless `hasPixSuffix` is false.
 */
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
  const refusal = await findRefusal(network, { url, request })
  if (refusal)
    return problem('WebhookOperacaoInvalida', refusal, [{ razao: refusal, propriedade: 'webhook.webhookUrl' }])
  const webhook = { url, createdAt: network.clock.now() }
  await upsertWebhook(network.pool, { chave, ...webhook })
  network.webhook.set(webhook)
  return { status: 200, headers: {}, body: '' }
}

/** `GET /webhook/{chave}` */
export async function getWebhook(network: Network, chave: string): Promise<HttpResponse> {
  const webhook = chave === receiverKey ? await network.webhook.current() : null
  if (!webhook) return problem('WebhookNaoEncontrado', 'Não há webhook estabelecido para a chave informada.')
  const { url: webhookUrl, createdAt } = webhook
  return json(200, { webhookUrl, chave, cnpj: receiverAccount.document, criacao: createdAt.toISOString() })
}

/** The reason why this PSP refuses an address that the standard allows, or null. */
async function findRefusal(
  { quirks, webhook, sendCallback }: Network,
  { url, request }: { url: string; request: HttpRequest },
): Promise<string | null> {
  const { protocol, hostname } = new URL(url)
  if (quirks.isWebhookSecure && protocol !== 'https:' && !isThisMachine(hostname))
    return 'A URL deve começar com https://.'
  if (quirks.repeatedWebhook === 'refused' && (await webhook.current())?.url === url)
    return 'O webhook já está cadastrado com esta URL.'
  const isTested = quirks.testsWebhook && request.headers['x-skip-mtls-checking'] !== 'true'
  if (isTested && (await acceptsAnonymousCall(sendCallback, url)))
    return 'A autenticação de TLS mútuo não está configurada na URL informada.'
  return null
}

/** True if the address accepts a call without a certificate: anyone who knows it could forge callbacks. */
async function acceptsAnonymousCall(sendCallback: Network['sendCallback'], url: string): Promise<boolean> {
  try {
    const status = await sendCallback(url, { evento: 'teste_webhook' }, { isAnonymous: true })
    return status >= 200 && status < 300
  } catch {
    return false
  }
}

function isThisMachine(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || hostname.startsWith('127.')
}

/** The address for callbacks about payouts, at a PSP with a separate address for them. */
export async function putPayoutWebhook(network: Network, request: HttpRequest, status: number): Promise<HttpResponse> {
  const url = parseWebhookUrl(parseJson(request.body))
  if (url === null) return problem('WebhookOperacaoInvalida', 'Campo webhookUrl não respeita o schema.')
  await upsertWebhook(network.pool, { chave: payoutWebhookKey, url, createdAt: network.clock.now() })
  return { status, headers: {}, body: '' }
}

export async function getPayoutWebhook(network: Network): Promise<HttpResponse> {
  const webhook = await findWebhook(network.pool, payoutWebhookKey)
  if (!webhook) return problem('WebhookNaoEncontrado', 'Não há webhook cadastrado.')
  return json(200, { webhookUrl: webhook.url, criacao: webhook.createdAt.toISOString() })
}

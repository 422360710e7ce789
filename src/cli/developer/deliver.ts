import { randomBytes } from 'node:crypto'
import type { WebhookEvent } from '../../../sdk/src/index.ts'
import { type SignedWebhook, signWebhook } from '../../../sdk/src/testing.ts'
import { secretPrefix } from '../../webhooks/sign.ts'
import { answerMaxMs, toReason } from './checks.ts'

/** `status` is null if there was no answer; `reason` then says why. */
export type Answered = { status: number | null; reason: string; ms: number }

/** Sends a webhook as Guichê does: same headers, same time-out, and redirects are not followed. */
export async function postWebhook(url: string, { headers, body }: SignedWebhook): Promise<Answered> {
  const startedAt = performance.now()
  const ms = () => Math.round(performance.now() - startedAt)
  try {
    const answer = await fetch(url, {
      ...{ method: 'POST', headers: { ...headers, 'user-agent': 'Guiche-Webhooks/1' }, body },
      ...{ redirect: 'manual', signal: AbortSignal.timeout(answerMaxMs) },
    })
    await answer.body?.cancel()
    return { status: answer.status, reason: '', ms: ms() }
  } catch (error) {
    return { status: null, reason: toReason(error), ms: ms() }
  }
}

/** Signs an event of the feed with the same body as its webhook, and sends it to an address chosen on this machine. */
export async function forward(
  { id, type, timestamp, data }: WebhookEvent,
  { url, secret }: { url: string; secret: string },
): Promise<Answered> {
  return await postWebhook(url, await signWebhook(secret, JSON.stringify({ id, type, timestamp, data }), { id }))
}

export function isAccepted({ status }: Answered): boolean {
  return status !== null && status >= 200 && status < 300
}

export function describeAnswer({ status, reason }: Answered): string {
  return status === null ? reason : `HTTP ${status}`
}

export function newWebhookSecret(): string {
  return `${secretPrefix}${randomBytes(24).toString('base64')}`
}

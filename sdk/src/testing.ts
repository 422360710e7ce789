/**
 * For the tests of a shop: made-up events, signatures like Guichê's, and a receiver on the loopback address. For Node,
 * Deno and Bun.
 */
export { createTestEvent } from './testing/event.ts'
export { createWebhookReceiver, type WaitOptions, type WebhookReceiver } from './testing/receiver.ts'
export { type SignedWebhook, type SignOptions, signWebhook } from './testing/sign.ts'

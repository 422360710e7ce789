/**
 * For the tests of a shop: events made by hand, signed as Guichê signs them, and a receiver on the loopback address. For Node, Deno and Bun.
 */
export { createTestEvent } from './testing/event.ts'
export { createWebhookReceiver, type WaitOptions, type WebhookReceiver } from './testing/receiver.ts'
export { type SignedWebhook, type SignOptions, signWebhook } from './testing/sign.ts'

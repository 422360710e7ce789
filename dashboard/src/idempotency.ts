/**
 * A key for one act with money: made when its dialog opens, so that a second click, or a second try of an answer that got lost, is the same
 * request. Not by `crypto.randomUUID`, which browsers have over https alone.
 */
export function newIdempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return `dashboard-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`
}

/**
 * A key for one operation with money. It is created when the dialog opens, so that a second click, or a retry after a
 * lost response, repeats the same request. Does not use `crypto.randomUUID`, which browsers offer only over https.
 */
export function newIdempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return `dashboard-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`
}

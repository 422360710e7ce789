import { useRef, useState } from 'react'

/**
 * A new key for one operation. The same key is sent with a second click, or a retry after a lost response, so that it
 * repeats the same request. Does not use `crypto.randomUUID`, which browsers offer only over HTTPS and on localhost.
 */
export function newIdempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return `dashboard-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`
}

/**
 * Returns a function that gives the key for a request's content. If the content is the same as in the previous call,
 * the key is the same too, so that a retry repeats the request. Other content gets a new key.
 */
export function useIdempotencyKey(create = newIdempotencyKey): (content: unknown) => string {
  const last = useRef({ content: '', key: '' })
  return (content) => {
    const text = JSON.stringify(content)
    if (text !== last.current.content) last.current = { content: text, key: create() }
    return last.current.key
  }
}

/**
 * One key until the operation has succeeded, and a function that renews it. Call this hook outside the dialog: if the
 * answer is lost and the dialog is opened again, the same request is sent.
 */
export function useKeyUntilSuccess(create = newIdempotencyKey): [key: string, renew: () => void] {
  const [key, setKey] = useState(create)
  return [key, () => setKey(create())]
}

/** A UUID of version 4, where the service expects the id of a new record. */
export function newUuid(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

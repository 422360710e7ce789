import { randomUUID } from 'node:crypto'
import { type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { AppError, type ErrorCode, errors } from '../lib/errors.ts'
import { problemType, toProblem } from './problem.ts'

const codes: Record<string, ErrorCode> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
  HPE_HEADER_OVERFLOW: 'headers_too_large',
}

/**
 * Answers what never reaches a route or a hook, and closes the connection: bytes that are not HTTP, headers that are
 * too large, and requests that take too long to arrive. In the middle of a response, it only closes the connection.
 */
export function answerBrokenRequest(
  error: Error & { code?: string },
  socket: Socket,
  { headers, errorPage }: { headers: Record<string, string>; errorPage: string },
): void {
  // The response to an earlier request of the connection. Node.js's own handler looks at it too.
  const { _httpMessage: response } = socket as Socket & { _httpMessage?: ServerResponse | null }
  if (error.code !== 'ECONNRESET' && socket.writable && !response?.headersSent) {
    const code = codes[error.code ?? ''] ?? 'bad_request'
    const { status } = errors[code]
    const requestId = randomUUID()
    const body = toProblem(new AppError(code), { errorPage, requestId })
    socket.write(
      [
        `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
        `Content-Type: ${problemType}`,
        `Content-Length: ${Buffer.byteLength(body)}`,
        `X-Request-Id: ${requestId}`,
        ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
        'Connection: close',
        '',
        body,
      ].join('\r\n'),
    )
  }
  socket.destroy(error)
}

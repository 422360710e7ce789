import type pg from 'pg'
import type { HttpRequest, HttpResponse } from '../../simulator/http.ts'
import { receiverKey, simulatorCredentials } from '../../simulator/receiver-account.ts'
import { createSimulator, type Simulator, type SimulatorOptions } from '../../simulator/simulator.ts'
import { type ManualClock, manualClock } from './clock.ts'

type Requested = { status: number; headers: Record<string, string>; body: Record<string, unknown> }

export type TestSimulator = Simulator & {
  clock: ManualClock
  /** Every callback sent with a certificate, also those answered with an error. */
  callbacks: { url: string; body: unknown }[]
  /** What the callback receiver answers, in order: a status, or an error to throw. 200 after the last. */
  answers: (number | Error)[]
  /** The callback receiver's answer to a call without a client certificate. */
  answerWithoutCertificate: { status: number }
  warnings: string[]
  /** Sends a request with a token. The body of the answer is parsed. */
  request(method: string, path: string, more?: { body?: unknown; query?: Record<string, string> }): Promise<Requested>
  /** Creates a charge and returns its copy-and-paste code. */
  charge(txid: string, amount?: string, expiracao?: number): Promise<string>
}

export const baseUrl = 'http://127.0.0.1:3000'

/** `personality` is the network's fault profile. */
type Options = Pick<Partial<SimulatorOptions>, 'dialect' | 'controlToken' | 'disturb' | 'personality'> & {
  clock?: ManualClock
  publicBaseUrl?: string
}

/** A simulator that stores its callbacks instead of sending them. */
export async function testSimulator(
  pool: pg.Pool,
  { clock = manualClock(), publicBaseUrl = baseUrl, ...options }: Options = {},
): Promise<TestSimulator> {
  const callbacks: { url: string; body: unknown }[] = []
  const answers: (number | Error)[] = []
  const answerWithoutCertificate = { status: 200 }
  const warnings: string[] = []
  const simulator = await createSimulator({
    pool,
    clock,
    publicBaseUrl,
    ...options,
    log: { warn: (_, message) => warnings.push(message) },
    sendCallback: async (url, body, how) => {
      if (how?.isAnonymous) return answerWithoutCertificate.status
      callbacks.push({ url, body })
      const answer = answers.shift() ?? 200
      if (answer instanceof Error) throw answer
      return answer
    },
  })

  async function send(
    method: string,
    path: string,
    { body, query }: { body?: unknown; query?: Record<string, string> } = {},
  ) {
    const { access_token } = parse(await simulator.handle(tokenRequest())).body
    const answer = await simulator.handle({
      ...request(method, path),
      query: query ?? {},
      headers: { authorization: `Bearer ${String(access_token)}` },
      body: body === undefined ? undefined : JSON.stringify(body),
    })
    return parse(answer)
  }

  async function charge(txid: string, amount = '10.00', expiracao = 3600): Promise<string> {
    const { status, body } = await send('PUT', `/cob/${txid}`, { body: cob(amount, expiracao) })
    if (status !== 201) throw new Error(`No charge: ${status}`)
    return String(body.pixCopiaECola)
  }

  return { ...simulator, clock, callbacks, answers, answerWithoutCertificate, warnings, request: send, charge }
}

/** The body of a request that creates a charge. */
export function cob(original: unknown = '10.00', expiracao: unknown = 3600) {
  return { calendario: { expiracao }, valor: { original }, chave: receiverKey }
}

export function request(method: string, path: string): HttpRequest {
  return { method, path, query: {}, headers: {}, body: undefined }
}

export function tokenRequest(
  { clientId, clientSecret } = simulatorCredentials,
  body = 'grant_type=client_credentials',
): HttpRequest {
  const authorization = `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`
  return { ...request('POST', '/oauth/token'), headers: { authorization }, body }
}

export function parse(answer: HttpResponse): Requested {
  return { ...answer, body: answer.body === '' ? {} : JSON.parse(answer.body) }
}

/** A txid like the service's: 32 hexadecimal digits. */
export function txidOf(number: number): string {
  return number.toString(16).padStart(32, '0')
}

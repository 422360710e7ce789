import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Agent, request } from 'undici'
import { readConfig } from '../config.ts'
import { print } from './print.ts'
import { readConnection } from './simulator-files.ts'

/** Pays a code at the simulator that runs on this DATA_DIR, through its control API. */
export async function payAtSimulator(payment: { uri: string; amount?: number; behaviour?: string }): Promise<void> {
  const { dataDir } = readConfig(process.env)
  const connection = await readConnection(join(dataDir, 'simulator'))
  if (!connection)
    throw new Error(
      `No simulator has run on DATA_DIR ${dataDir}: start one with "npx guiche simulator" on the same DATA_DIR.`,
    )
  const { url, controlToken, tls } = connection
  const dispatcher = tls
    ? new Agent({
        connect: {
          ca: await readFile(tls.caFile, 'utf8'),
          cert: await readFile(tls.certFile, 'utf8'),
          key: await readFile(tls.keyFile, 'utf8'),
        },
      })
    : new Agent()
  try {
    const answer = await request(`${url}/sandbox/payment`, {
      method: 'POST',
      body: JSON.stringify(payment),
      headers: { authorization: `Bearer ${controlToken}`, 'content-type': 'application/json' },
      dispatcher,
    }).catch((cause: unknown) => {
      throw new Error(`The simulator does not answer at ${url}. Check that it is running.`, { cause })
    })
    const body = (await answer.body.json()) as { endToEndId?: string; detail?: string }
    if (body.endToEndId === undefined) throw new Error(body.detail ?? `The simulator answered ${answer.statusCode}.`)
    print({ endToEndId: body.endToEndId }, {})
  } finally {
    await dispatcher.close()
  }
}

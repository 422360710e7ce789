import { expect, it, onTestFinished } from 'vitest'
import { listen, makeTestCertificates } from '../../../test/support/https-psp.ts'
import { createReport } from './checks.ts'
import { checkReceiver } from './doctor-receiver.ts'

async function checkCertificateOf(url: string) {
  const report = createReport({ json: true })
  await checkReceiver({ url: `${url}/pix`, secret: null, type: 'transaction.paid' }, report)
  return report.checks.find(({ name }) => name === 'certificate')
}

it('asks for another certificate only if the receiver’s certificate is refused', async () => {
  const warnings: Error[] = []
  const onWarning = (warning: Error) => void warnings.push(warning)
  process.on('warning', onWarning)
  onTestFinished(() => void process.off('warning', onWarning))
  const { authority, server } = await makeTestCertificates()
  const untrusted = await listen(() => {}, { identity: server, clientAuthority: authority })
  onTestFinished(untrusted.close)
  expect(await checkCertificateOf(untrusted.url)).toMatchObject({
    outcome: 'fail',
    detail: 'The certificate of the receiver is signed by an authority that is not trusted',
    fix: 'Install a certificate of a public authority for this name, with its chain.',
  })
  const plain = await listen(() => {})
  onTestFinished(plain.close)
  expect(await checkCertificateOf(plain.url.replace('http:', 'https:'))).toMatchObject({
    outcome: 'fail',
    fix: 'Check the name, that the receiver runs, and that this machine can reach it.',
  })
  expect(warnings).toEqual([])
})

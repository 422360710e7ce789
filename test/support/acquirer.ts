import { type Logger, pino } from 'pino'
import { receiverAccount, receiverKey, simulatorCredentials } from '../../simulator/receiver-account.ts'
import { createBacenAcquirer } from '../../src/acquirers/bacen/adapter.ts'
import type { Send } from '../../src/acquirers/bacen/http.ts'
import type { ProtocolProfileOverrides } from '../../src/acquirers/bacen/profile.ts'
import { createRegistry } from '../../src/acquirers/registry.ts'
import { createSettlement, type SettleDeps } from '../../src/transactions/settle.ts'
import type { TestService } from './service.ts'

type Options = { log?: Logger; name?: string; profile?: ProtocolProfileOverrides }

/**
 * What a second process needs to settle transactions on a service's database. Its requests to the bank go through
 * `send`, in which a test may inject faults.
 */
export function settleDepsWith(
  service: TestService,
  send: Send,
  { log = pino({ level: 'silent' }), name = 'simulator', profile }: Options = {},
): SettleDeps {
  const acquirer = createBacenAcquirer({
    name,
    send,
    credentials: simulatorCredentials,
    chave: receiverKey,
    receiver: receiverAccount,
    isRemote: true,
    clock: service.clock,
    ...(profile && { profile }),
  })
  return {
    db: service.db,
    clock: service.clock,
    acquirers: createRegistry([acquirer]),
    log,
    settlement: createSettlement(service),
    wakeDeliveries: () => {},
  }
}

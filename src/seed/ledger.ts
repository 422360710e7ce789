import { type Account, clearingAccount, type RecordType } from '../ledger/accounts.ts'
import type { Posting } from '../ledger/post.ts'
import { simulatorName } from '../network.ts'
import type { Merchant } from './merchants.ts'
import { at, type Sheets } from './sheets.ts'

/** The ledger in memory, with the transfers of ledger/transfers.ts: what ledger/post.ts does under the lock of the accounts. */
export type SeedLedger = {
  post(
    posting: { merchant: Merchant; eventKey: string; recordType: RecordType; recordId: string; moment: number },
    transfers: Posting['transfers'],
  ): void
}

/** As it is named in the ledger: all is at one acquirer. */
export function nameOf(account: Account): string {
  return account === 'acquirer' ? clearingAccount(simulatorName) : account
}

/** Transfers are numbered from `firstId`, in the order in which they are posted. */
export function openLedger(sheets: Sheets, firstId: number): SeedLedger {
  let id = firstId
  return {
    post({ merchant, eventKey, recordType, recordId, moment }, transfers) {
      const { balances } = merchant
      let position = 0
      for (const { kind, debit, credit, amount } of transfers(balances)) {
        if (amount === 0) continue
        balances[debit] -= amount
        balances[credit] += amount
        const [from, to] = [nameOf(debit), nameOf(credit)]
        // biome-ignore format: by twos and threes, as the table's columns are listed
        sheets.add('ledger_transfers', [
          merchant.id, id, eventKey, position, kind, from, to, amount, balances[debit], balances[credit],
          recordType, recordId, at(moment),
        ])
        id += 1
        position += 1
      }
    },
  }
}

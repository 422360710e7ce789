import { attributionProposal } from './attribution/attribute.ts'
import { cellMoveProposals, creditProposals, manualEntryProposal } from './entries/propose.ts'
import type { ProposalKind } from './proposals/decide.ts'
import { limitsProposal } from './withdrawals/change-limits.ts'
import { settlementProposal } from './withdrawals/settle-by-hand.ts'

/** All operations that need two persons, except withdrawals, whose own row records the review. */
export const proposalKinds: readonly ProposalKind[] = [
  limitsProposal,
  attributionProposal,
  manualEntryProposal,
  ...creditProposals,
  ...cellMoveProposals,
  settlementProposal,
]

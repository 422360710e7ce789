import { giftProposals, manualEntryProposal } from './entries/propose.ts'
import { attributionProposal } from './orphans/match.ts'
import type { ProposalKind } from './proposals/decide.ts'
import { limitsProposal } from './withdrawals/change-limits.ts'
import { settlementProposal } from './withdrawals/settle-by-hand.ts'

/** Everything that takes two persons, besides a withdrawal, which is held by its own row. */
export const proposalKinds: readonly ProposalKind[] = [
  limitsProposal,
  attributionProposal,
  manualEntryProposal,
  ...giftProposals,
  settlementProposal,
]

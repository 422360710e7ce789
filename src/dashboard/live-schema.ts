import { type Static, Type } from 'typebox'
import { Cents, Count, Flag, OrNull, Text } from './schema.ts'

/** What the stream of changes sends to open dashboards. */

export const changeKinds = ['transaction', 'withdrawal', 'approval', 'dispute', 'delivery', 'suspense'] as const

const ChangeView = Type.Object({
  kind: Type.Enum([...changeKinds]),
  /** Null: the operator's own. */
  clientId: OrNull(Text),
  /** The new status; `closed`: it no longer waits for anybody. */
  status: Text,
  count: Count,
  /** The newest ones. `amount`: of a payment that just arrived. */
  records: Type.Array(Type.Object({ id: Text, amount: OrNull(Cents) })),
})
/** The changes since the last poll, about half a second ago. `isMore`: there are further ones. */
export const ChangedView = Type.Object({ changes: Type.Array(ChangeView), isMore: Flag })

export type ChangeKind = (typeof changeKinds)[number]
export type ChangeView = Static<typeof ChangeView>
export type Changed = Static<typeof ChangedView>

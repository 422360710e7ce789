/** What shops observed while a service ran, stopped and restarted, and what the service says afterwards. */
export type Observation = {
  /** Every create that was answered 201. */
  acknowledged: { key: string; id: string; amount: number; uri: string }[]
  /** Transactions whose payment the bank acknowledged, or called paid already. */
  paid: { id: string; endToEndId: string | null }[]
  /** Deliveries in the order in which they arrived. */
  deliveries: { recordId: string; eventId: string; type: string; sequence: number }[]
  /** All transactions at the end. */
  found: Found[]
}

export type Found = {
  id: string
  externalCode?: string
  amount: number
  amountPaid?: number
  endToEnd?: string
  status: string
  statusHistory: { status: string }[]
  pixResponse?: { uri: string }
}

/** Every broken guarantee as a sentence; none when all were kept. */
export function findBrokenGuarantees(observation: Observation): string[] {
  const found = new Map(observation.found.map((transaction) => [transaction.id, transaction]))
  return [
    ...findLost(observation, found),
    ...findTwice(observation),
    ...findPaymentFaults(observation, found),
    ...observation.found.flatMap((transaction) => findDeliveryFaults(observation, transaction)),
    ...findUnknown(observation, found),
  ]
}

function findLost({ acknowledged }: Observation, found: Map<string, Found>): string[] {
  return acknowledged.flatMap(({ key, id, amount, uri }) => {
    const kept = found.get(id)
    if (!kept) return [`${id} was acknowledged and is lost`]
    const isSame = kept.amount === amount && kept.pixResponse?.uri === uri && kept.externalCode === key
    return isSame ? [] : [`${id} is not as it was acknowledged`]
  })
}

/** One request creates one transaction, however many times it is repeated. */
function findTwice({ acknowledged, found }: Observation): string[] {
  const idsOf = new Map<string, Set<string>>()
  const answers = [...acknowledged, ...found.map(({ id, externalCode }) => ({ id, key: externalCode ?? id }))]
  for (const { key, id } of answers) idsOf.set(key, (idsOf.get(key) ?? new Set()).add(id))
  return [...idsOf].flatMap(([key, { size }]) => (size > 1 ? [`${key} made ${size} transactions`] : []))
}

function findPaymentFaults({ paid, found: all }: Observation, found: Map<string, Found>): string[] {
  const isPaid = new Set(paid.map(({ id }) => id))
  return [
    ...paid.flatMap(({ id, endToEndId }) => {
      const transaction = found.get(id)
      if (!transaction) return [`${id} was paid and is lost`]
      const times = transaction.statusHistory.filter(({ status }) => status === 'PAID').length
      if (transaction.status !== 'PAID' || times !== 1)
        return [`${id} was paid, is ${transaction.status}, PAID ${times} times`]
      if (transaction.amountPaid !== transaction.amount) return [`${id} was paid with another amount`]
      return endToEndId === null || transaction.endToEnd === endToEndId ? [] : [`${id} was paid by another payment`]
    }),
    ...all.flatMap(({ id, status }) =>
      status === 'PAID' && !isPaid.has(id) ? [`${id} is PAID and nobody paid it`] : [],
    ),
  ]
}

/** Each change was sent at least once, in order, and nothing else was sent. */
function findDeliveryFaults({ deliveries }: Observation, { id, statusHistory }: Found): string[] {
  const delivered = deliveries.filter(({ recordId }) => recordId === id)
  const events = new Map(delivered.map(({ sequence, eventId, type }) => [sequence, { eventId, type }]))
  const expected = statusHistory.slice(1).map(({ status }) => `transaction.${status.toLowerCase()}`)
  return [
    ...expected.flatMap((type, index) =>
      events.get(index + 1)?.type === type ? [] : [`${id}: ${type} was never delivered`],
    ),
    ...(delivered.some(({ sequence }) => sequence > expected.length)
      ? [`${id}: more was delivered than happened`]
      : []),
    ...(delivered.some(({ sequence, eventId }) => events.get(sequence)?.eventId !== eventId)
      ? [`${id}: one change is two events`]
      : []),
    ...(delivered.some(({ sequence }, index) => sequence < (delivered[index - 1]?.sequence ?? 0))
      ? [`${id}: delivered out of order`]
      : []),
  ]
}

/** No event is sent of a transaction that was not committed. */
function findUnknown({ deliveries }: Observation, found: Map<string, Found>): string[] {
  const ids = new Set(deliveries.map(({ recordId }) => recordId).filter((id) => !found.has(id)))
  return [...ids].map((id) => `${id} was delivered and does not exist`)
}

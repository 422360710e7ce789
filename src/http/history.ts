/** Statuses with their date and the milliseconds spent in each; null for the current one. */
export function toStatusHistoryView<Status extends string>(statuses: Status[], dates: Date[]) {
  return statuses.map((status, index) => {
    const [from, to] = [dates[index], dates[index + 1]]
    return {
      status,
      date: from?.toISOString() ?? '',
      durationInMilliseconds: from && to ? to.getTime() - from.getTime() : null,
    }
  })
}

/** Things that are to be done at their time, the earliest first (a binary heap). */
export type Timetable = {
  add(at: number, work: (at: number) => void): void
  /** Does all that is due until a moment. What that adds is done as well, when it is due. */
  runUntil(moment: number): void
}

export function createTimetable(): Timetable {
  const heap: { at: number; work: (at: number) => void }[] = []

  function takeFirst() {
    const first = heap[0]
    const last = heap.pop()
    if (!first || !last || first === last) return first
    let place = 0
    for (;;) {
      const left = 2 * place + 1
      const right = heap[left + 1]
      const child = right && right.at < (heap[left]?.at ?? 0) ? left + 1 : left
      const entry = heap[child]
      if (!entry || entry.at >= last.at) break
      heap[place] = entry
      place = child
    }
    heap[place] = last
    return first
  }

  return {
    add(at, work) {
      const entry = { at, work }
      let place = heap.length
      while (place > 0) {
        const above = (place - 1) >> 1
        const parent = heap[above]
        if (!parent || parent.at <= at) break
        heap[place] = parent
        place = above
      }
      heap[place] = entry
    },
    runUntil(moment) {
      while ((heap[0]?.at ?? Number.POSITIVE_INFINITY) <= moment) {
        const first = takeFirst()
        first?.work(first.at)
      }
    },
  }
}

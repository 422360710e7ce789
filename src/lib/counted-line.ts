/** The pause between two lines of the same event. */
const everyMs = 1_000

/**
 * For an event that may happen to every request at once, such as an outage of the database: `write` gets the first
 * event at once, and then the last event of each second, with the number of events since the previous line.
 */
export function createCountedLine<Event>(write: (event: Event, count: number) => void): (event: Event) => void {
  let count = 0
  let last: Event
  let isPaused = false

  function writeLine(): void {
    isPaused = count > 0
    if (!isPaused) return
    write(last, count)
    count = 0
    setTimeout(writeLine, everyMs).unref()
  }

  return (event) => {
    last = event
    count += 1
    if (!isPaused) writeLine()
  }
}

import { setTimeout as sleep } from 'node:timers/promises'
import { assert } from './assert.ts'

export type BatchOptions<Item, Result> = {
  /** Does the work of a batch in one go; gives the results in the order of its items. Runs again, item by item, after an error. */
  run: (items: Item[]) => Promise<Result[]>
  itemsMax: number
  flightsMax: number
  /** As many as must wait before one more flight leaves while others are under way: one is not worth a commit of its own then. */
  besideMin?: number
  /** The order within a batch: two that lock the same rows in opposite order would deadlock. */
  sort?: (a: Item, b: Item) => number
  /** Whether an error may be the fault of one item. When a connection is lost, repeating helps nobody. All errors, if not given. */
  isolates?: (error: unknown) => boolean
  /**
   * How long at least those wait for more who came while a flight was under way, where they are few. A statement for one costs as much as for
   * ten, and a busy process pays it for everyone else's time: so they wait as long as that flight took, which is long when the process or the
   * database has much to do. Not at all, if not given.
   */
  restMs?: number
}

/** A wait that nobody notices among those that a busy process has anyway. */
const restMsMax = 25

type Waiting<Item, Result> = { item: Item; resolve: (result: Result) => void; reject: (error: unknown) => void }

/**
 * Lets callers share a commit. An item that finds no flight under way leaves at once; those that come meanwhile go together
 * into the next. So nothing is added when idle, and the batch grows by itself under load (6,000 rows per second one by one,
 * 31,000 at 32).
 *
 * An error of a batch is not everyone's: its items are repeated one by one, so that a bad one fails alone. `run` must
 * therefore bear to see an item again whose first try is in doubt.
 */
export function createBatch<Item, Result>(options: BatchOptions<Item, Result>): (item: Item) => Promise<Result> {
  let waiting: Waiting<Item, Result>[] = []
  let flights = 0
  let boarding = false
  const half = Math.ceil(options.itemsMax / 2)

  function mayDepart(): boolean {
    if (waiting.length === 0 || flights >= options.flightsMax) return false
    return flights === 0 || waiting.length >= (options.besideMin ?? 1)
  }

  function board(): void {
    if (boarding || !mayDepart()) return
    boarding = true
    // After the I/O of this turn: requests that came in together are all seen before the first one leaves.
    setImmediate(() => {
      boarding = false
      while (mayDepart()) depart()
    })
  }

  function depart(): void {
    const passengers = waiting.slice(0, options.itemsMax)
    waiting = waiting.slice(options.itemsMax)
    flights += 1
    const leftAt = performance.now()
    void fly(options, passengers)
      .then(() => rest(performance.now() - leftAt))
      .finally(() => {
        flights -= 1
        board()
      })
  }

  async function rest(flightMs: number): Promise<void> {
    const isEnough = waiting.length >= (options.besideMin ?? options.itemsMax)
    if (options.restMs === undefined || waiting.length === 0 || isEnough) return
    await sleep(Math.max(options.restMs, Math.min(flightMs, restMsMax)))
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject })
      // In the midst of a turn: the database then works while the rest of what came in together is still read.
      if (waiting.length >= half && mayDepart()) depart()
      else board()
    })
}

async function fly<Item, Result>(
  options: BatchOptions<Item, Result>,
  passengers: Waiting<Item, Result>[],
): Promise<void> {
  const { sort, isolates } = options
  if (sort !== undefined) passengers.sort((a, b) => sort(a.item, b.item))
  try {
    await runTogether(options, passengers)
  } catch (error) {
    const alone = passengers.length === 1 || isolates?.(error) === false
    if (alone) for (const { reject } of passengers) reject(error)
    else for (const passenger of passengers) await runTogether(options, [passenger]).catch(passenger.reject)
  }
}

async function runTogether<Item, Result>(
  options: BatchOptions<Item, Result>,
  passengers: Waiting<Item, Result>[],
): Promise<void> {
  const results = await options.run(passengers.map(({ item }) => item))
  assert(results.length === passengers.length, 'a batch gave another number of results than it had items')
  for (const [index, result] of results.entries()) passengers[index]?.resolve(result)
}

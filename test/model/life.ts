import type { Send } from '../../src/acquirers/bacen/http.ts'
import type { Db, Sql, Tx } from '../../src/db/sql.ts'

/** The error that the model injects into a process. The program does not know it, so it is never an answer. */
export class Injected extends Error {
  constructor(what: string) {
    super(`injected: ${what}`)
    this.name = 'Injected'
  }
}

/** crash: from that step on the process does nothing; fault: that step fails, and the process goes on. */
export type Harm = 'crash' | 'fault'

/** The life of a process as a sequence of steps: each statement, commit and request to the acquirer is one step. */
export type Life = {
  /** Injects the harm at the n-th step from now. */
  arm(harm: Harm, steps: number): void
  disarm(): void
  isDead(): boolean
  step(what: string): void
}

export function createLife(): Life {
  let armed: { harm: Harm; left: number } | null = null
  let isDead = false
  return {
    arm: (harm, steps) => {
      armed = { harm, left: steps }
    },
    disarm: () => {
      armed = null
    },
    isDead: () => isDead,
    step: (what) => {
      if (isDead) throw new Injected(`the process ended before ${what}`)
      if (!armed || --armed.left > 0) return
      isDead = armed.harm === 'crash'
      armed = null
      throw new Injected(what)
    },
  }
}

/** A database for a process that may end before any statement, and before or after any commit. */
export function mortalDb(db: Db, life: Life): Db {
  return {
    pool: db.pool,
    recentXids: db.recentXids,
    async query<Row extends object>(statement: Sql) {
      life.step('a statement')
      const rows = await db.query<Row>(statement)
      life.step('the result of a statement')
      return rows
    },
    async transaction(work, lock) {
      life.step('a transaction')
      const result = await db.transaction(async (tx) => {
        const done = await work(mortalTx(tx, life))
        life.step('a commit')
        return done
      }, lock)
      life.step('the confirmation of a commit')
      return result
    },
  }
}

function mortalTx(tx: Tx, life: Life): Tx {
  return {
    inTransaction: true,
    last: (send) => tx.last(send),
    async query<Row extends object>(statement: Sql) {
      life.step('a statement in a transaction')
      return await tx.query<Row>(statement)
    },
  }
}

/** The acquirer's transport for a process that may end before a request and before its answer. */
export function mortalSend(send: Send, life: Life): Send {
  return async (request) => {
    life.step('a question to the acquirer')
    const answer = await send(request)
    life.step('an answer of the acquirer')
    return answer
  }
}

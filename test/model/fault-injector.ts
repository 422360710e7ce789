import type { Send } from '../../src/acquirers/bacen/http.ts'
import type { Db, Sql, Tx } from '../../src/db/sql.ts'

/** The error that the model injects into a process. The service does not know it, so it is never an answer. */
export class Injected extends Error {
  constructor(what: string) {
    super(`injected: ${what}`)
    this.name = 'Injected'
  }
}

/** `crash`: from that step on, the process does nothing. `fault`: only that step fails. */
export type Injection = 'crash' | 'fault'

/** Injects a crash or a fault into a process. A step is a moment before or after a statement, a commit or a request. */
export type FaultInjector = {
  /** The n-th step from now crashes or fails. */
  arm(injection: Injection, steps: number): void
  disarm(): void
  isDead(): boolean
  step(what: string): void
}

export function createFaultInjector(): FaultInjector {
  let armed: { injection: Injection; left: number } | null = null
  let isDead = false
  return {
    arm: (injection, steps) => {
      armed = { injection, left: steps }
    },
    disarm: () => {
      armed = null
    },
    isDead: () => isDead,
    step: (what) => {
      if (isDead) throw new Injected(`the process ended before ${what}`)
      if (!armed || --armed.left > 0) return
      isDead = armed.injection === 'crash'
      armed = null
      throw new Injected(what)
    },
  }
}

/** A database for a process that may end before any statement, and before or after any commit. */
export function faultyDb(db: Db, injector: FaultInjector): Db {
  return {
    pool: db.pool,
    recentXids: db.recentXids,
    async query<Row extends object>(statement: Sql) {
      injector.step('a statement')
      const rows = await db.query<Row>(statement)
      injector.step('the result of a statement')
      return rows
    },
    async transaction(work, lock) {
      injector.step('a transaction')
      const result = await db.transaction(async (tx) => {
        const done = await work(faultyTx(tx, injector))
        injector.step('a commit')
        return done
      }, lock)
      injector.step('the confirmation of a commit')
      return result
    },
  }
}

function faultyTx(tx: Tx, injector: FaultInjector): Tx {
  return {
    inTransaction: true,
    sendLast: (send) => tx.sendLast(send),
    async query<Row extends object>(statement: Sql) {
      injector.step('a statement in a transaction')
      return await tx.query<Row>(statement)
    },
  }
}

/** The acquirer's transport for a process that may end before a request and before its answer. */
export function faultySend(send: Send, injector: FaultInjector): Send {
  return async (request) => {
    injector.step('a request to the acquirer')
    const answer = await send(request)
    injector.step('an answer of the acquirer')
    return answer
  }
}

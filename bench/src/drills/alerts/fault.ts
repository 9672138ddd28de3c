import type pg from 'pg'
import type { ServiceName, Stage } from './stage.ts'

/** Repairs a fault. */
export type Repair = () => Promise<void>

/** A fault, and the alert that must report it. */
export interface Fault {
  readonly alert: string
  /** The service that the alert names. */
  readonly job: ServiceName
  /** The fault, as the drill prints it. */
  readonly what: string
  /** Plants the fault, and returns its repair. */
  plant(stage: Stage): Promise<Repair>
}

/** Repeats work until the repair, or until the work fails. Then the repair fails with the same error. */
export function repeat(work: () => Promise<unknown>): Repair {
  let isOver = false
  const run = async () => {
    while (!isOver) await work()
  }
  const running = run()
  // The work may fail before the repair awaits it, and an unhandled rejection would end the drill.
  running.catch(() => {})
  return async () => {
    isOver = true
    await running
  }
}

/** Runs statements over a connection of their own. */
export async function execute(stage: Stage, ...statements: readonly string[]): Promise<pg.QueryResult | undefined> {
  const client = await stage.connect()
  try {
    let result: pg.QueryResult | undefined
    for (const statement of statements) result = await client.query(statement)
    return result
  } finally {
    await client.end()
  }
}

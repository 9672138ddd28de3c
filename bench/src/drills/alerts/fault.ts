import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import type { Fixture, ServiceName } from './fixture.ts'
import { type AlertState, EVERY_SECONDS, type Prometheus } from './prometheus.ts'

export type Repair = () => Promise<void>

/** A fault, and the alert that must report it. */
export interface Fault {
  readonly alert: string
  readonly job: ServiceName
  readonly what: string
  /** Plants the fault, and returns its repair. */
  plant(fixture: Fixture): Promise<Repair>
}

/** Repeats work until the repair, or until the work fails. In that case, the repair rejects with the same error. */
export function repeat(work: () => Promise<unknown>): Repair {
  let isOver = false
  const run = async () => {
    while (!isOver) await work()
  }
  const running = run()
  // An unhandled rejection would end the drill if the work fails before the repair awaits it.
  running.catch(() => {})
  return async () => {
    isOver = true
    await running
  }
}

export async function execute(fixture: Fixture, ...statements: readonly string[]): Promise<pg.QueryResult | undefined> {
  const client = await fixture.connect()
  try {
    let result: pg.QueryResult | undefined
    for (const statement of statements) result = await client.query(statement)
    return result
  } finally {
    await client.end()
  }
}

/** The parts of a drill: the fixture on which faults are planted, Prometheus, and the place where lines are printed. */
export interface Rig {
  readonly fixture: Fixture
  readonly prometheus: Prometheus
  readonly say: (line: string) => void
  /** Ends every wait, after planted faults are repaired. */
  readonly stop: AbortSignal
}

/** Waits until the alert of a repaired fault has ended. @throws Error if it does not end in time */
export type Ending = () => Promise<void>

/** Alerts use rates over two minutes and increases over five, and fire some time after the limit is crossed. */
const FIRE_MS = 240_000
const OVER_MS = 420_000
/** The time without an alert before a fault is planted. An earlier alert belongs to the previous fault. */
const CALM_MS = 3 * EVERY_SECONDS * 1_000
const LOOK_MS = 500

/** Plants a fault, waits for its alert, and repairs it. @throws Error if the alert fires before the fault, or never */
export async function drill(fault: Fault, rig: Rig): Promise<Ending> {
  const { alert, job, what } = fault
  const { fixture, prometheus, say } = rig
  const stateIs = (state: AlertState | undefined) => async () =>
    (await prometheus.alerts()).get(`${alert} ${job}`) === state
  await waitUntil(stateIs(undefined), { ...rig, patienceMs: OVER_MS, heldMs: CALM_MS, late: 'fires before its fault' })
  const repair = await fault.plant(fixture)
  try {
    const firedMs = await waitUntil(stateIs('firing'), { ...rig, patienceMs: FIRE_MS, late: `does not fire: ${what}` })
    say(`${alert} fired after ${inSeconds(firedMs)}: ${what}`)
  } finally {
    await repair()
  }
  const over = waitUntil(stateIs(undefined), { ...rig, patienceMs: OVER_MS, late: 'does not end after its repair' })
  // An unhandled rejection would end the drill if the wait fails before the caller awaits it.
  over.catch(() => {})
  return async () => say(`${alert} ended ${inSeconds(await over)} after the repair`)
}

/** Waits for a condition. @returns the time until it held, in milliseconds @throws Error if it does not hold in time */
async function waitUntil(
  holds: () => Promise<boolean>,
  {
    stop,
    patienceMs,
    heldMs = 0,
    late,
  }: {
    readonly stop: AbortSignal
    readonly patienceMs: number
    /** How long the condition must hold at every check. By default, one check is enough. */
    readonly heldMs?: number
    /** The message of the error if the condition does not hold in time. */
    readonly late: string
  },
): Promise<number> {
  const startMs = performance.now()
  let sinceMs: number | undefined
  for (;;) {
    const nowMs = performance.now()
    sinceMs = (await holds()) ? (sinceMs ?? nowMs) : undefined
    if (sinceMs !== undefined && nowMs - sinceMs >= heldMs) return sinceMs - startMs
    if (nowMs - startMs >= patienceMs + heldMs) throw new Error(late)
    await delay(LOOK_MS, undefined, { signal: stop })
  }
}

function inSeconds(milliseconds: number): string {
  return `${Math.round(milliseconds / 1_000)} s`
}

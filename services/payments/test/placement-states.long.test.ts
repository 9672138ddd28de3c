import { setImmediate } from 'node:timers/promises'
import { type DistributionState, expectWhole, isRebalancing, stateStatements } from '@trestle/citus/notes.ts'
import { sql } from 'kysely'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest'
import { loadPaymentsConfig } from '../src/config.ts'
import { findPlacement, followPlacement } from '../src/placement/placement.ts'
import { drawnFor } from './drawn-arrows.ts'
import { startPayments, type TestPayments } from './payments-app.ts'
import { pretendDistributed, pretendPlain } from './pretended-cluster.ts'

let payments: TestPayments
beforeAll(async () => {
  payments = await startPayments()
  // The first move makes the table of notes.
  await recordState('distributing')
})
afterAll(() => payments.close())
beforeEach(() => {
  // A process reads the state once a second. Nothing else of this test has an interval.
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
})
afterEach(() => {
  vi.useRealTimers()
})

/** Records a state as `payments distribute` does, with the rows at the place where it leaves them. */
async function recordState(state: DistributionState): Promise<void> {
  if (state === 'plain') await pretendPlain(payments)
  if (state === 'distributed') await pretendDistributed(payments)
  for (const statement of stateStatements(payments.service.names, state)) {
    await sql.raw(statement).execute(payments.owner.db)
  }
}

/**
 * Lets a second pass, and waits until the process has read the state: its questions go over the only connection of the checks. Then
 * the process looks for the rows, if the state has changed.
 */
async function letRead(state: () => string, expected: string): Promise<void> {
  vi.advanceTimersByTime(1_000)
  for (let turn = 0; turn < QUESTIONS_MAX; turn++) {
    await sql`SELECT 1`.execute(payments.service.checks.withoutPlugins())
    await setImmediate()
  }
  await expect.poll(state).toBe(expected)
}

/** More than the process asks before it knows the state. */
const QUESTIONS_MAX = 5
const MOVES = ['plain', 'distributing', 'distributed', 'undoing'] as const
const logger = pino({ enabled: false })

/** Starts a process on a database with such a note, and follows it. */
async function start(state: 'plain' | 'distributed', arrows: Set<string>) {
  await recordState(state)
  const { service, url } = payments
  const config = loadPaymentsConfig({
    PAYMENTS_DATABASE_URL: url,
    PAYMENTS_BASE_URL: 'http://localhost',
    PAYMENTS_DEV: 'true',
  })
  const now = () => new Date()
  const found = await findPlacement(config, now)
  let last = found.isDistributed ? 'distributed' : 'plain'
  arrows.add(`none --> ${last}`)
  const switchMode: typeof service.switchMode = (mode) => {
    service.switchMode(mode)
    const placed = mode.findTenant === undefined ? 'plain' : 'distributed'
    const next = mode.isRebalancing ? 'moving' : placed
    if (next !== last) arrows.add(`${last} --> ${next}`)
    last = next
  }
  return {
    ...followPlacement(found, {
      config,
      database: { ...service, switchMode },
      operators: payments.operators,
      logger,
      now,
    }),
    state: () => last,
  }
}

it('a process goes through the arrows of its diagram, and through no others', async () => {
  const arrows = new Set<string>()
  for (const begin of ['plain', 'distributed'] as const) {
    for (const way of [[], ['distributing'], ['undoing']] as const) {
      for (const move of MOVES) {
        const rows = await start(begin, arrows)
        for (const state of [...way, move]) {
          await recordState(state)
          await letRead(rows.state, isRebalancing(state) ? 'moving' : state)
        }
        rows.stop()
      }
    }
  }
  expect([...arrows].sort()).toEqual(drawnFor('placement')[0])
})

it.each([
  ['distributing', 'the database is being distributed: run distribute again'],
  ['undoing', 'the distribution is being undone: run distribute --undo again'],
] as const)('refuses a start during a rebalance: %s', async (state, message) => {
  await recordState('plain')
  await recordState(state)
  const { service, owner } = payments
  await expect(expectWhole(owner.db.withoutPlugins(), service.names)).rejects.toThrow(new Error(message))
})

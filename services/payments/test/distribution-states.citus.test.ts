import { readFileSync } from 'node:fs'
import { type DistributeOptions, distributeDatabase, NOTE_BEGIN, type OnStep } from '@trestle/citus/distribute.ts'
import { readState, stateStatements } from '@trestle/citus/notes.ts'
import { undoDistribution } from '@trestle/citus/undo.ts'
import { withDatabase } from '@trestle/database/migrations/migration-connection.ts'
import type { TemporaryDatabase } from '@trestle/testing/temporary-database.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { diagramsOf } from '../../../scripts/layout/state-diagrams.ts'
import { createMigratedDatabase, distributionOptions } from './payments-app.ts'

const README = new URL('../../../packages/citus/README.md', import.meta.url)

let database: TemporaryDatabase
let options: DistributeOptions
beforeAll(async () => {
  database = await createMigratedDatabase()
  options = distributionOptions(database.url)
})
afterAll(() => database.drop())

const KILLED = new Error('killed')
/** Returns a callback that kills a run at the step after the one that notes the beginning. */
function killer(): OnStep {
  let isNoted = false
  return ({ title }) => {
    if (isNoted) throw KILLED
    isNoted = title === NOTE_BEGIN
  }
}

it('no way back begins where something is not as the migrations make it, and the error names it', async () => {
  const alter = (change: string) =>
    withDatabase(options, (db) =>
      sql`ALTER TABLE payments.payout_batches ALTER COLUMN digest ${sql.raw(change)} NOT NULL`.execute(db),
    )
  await alter('DROP')
  await expect(undoDistribution(options)).rejects.toThrow(
    new Error('differs from what the migrations make: column payout_batches.digest'),
  )
  expect(await withDatabase(options, (db) => readState(db, options.names))).toBe('distributed')
  await alter('SET')
}, 600_000)

it('a distribution goes through the arrows of its diagram, and through no others', async () => {
  const events = {
    'distribute begins': () => distributeDatabase(options, killer()),
    'distribute ends': () => distributeDatabase(options),
    'undo begins': () => undoDistribution(options, killer()),
    'undo ends': () => undoDistribution(options),
  }
  const stateNow = () => withDatabase(options, (db) => readState(db, options.names))
  const arrows = new Set<string>()
  /** Runs an event. @returns the number of its steps, or why it ended */
  const run = async (event: keyof typeof events) => {
    const from = await stateNow()
    const result = await events[event]().catch((error: Error) => error)
    const to = await stateNow()
    if (from !== to) arrows.add(`${from} --> ${to}`)
    return [result, to]
  }
  expect(await run('undo begins')).toEqual([KILLED, 'undoing'])
  const refused = new Error('the distribution is being undone: run distribute --undo again')
  expect(await run('distribute ends')).toEqual([refused, 'undoing'])
  expect(await run('undo ends')).toEqual([expect.any(Number), 'plain'])
  expect(await run('undo ends')).toEqual([0, 'plain'])
  expect(await run('distribute begins')).toEqual([KILLED, 'distributing'])
  expect(await run('distribute ends')).toEqual([expect.any(Number), 'distributed'])
  expect(await run('distribute ends')).toEqual([0, 'distributed'])
  // Simulate a function that a migration has replaced.
  await withDatabase(options, (db) =>
    sql`ALTER FUNCTION payments.pay_out SET plan_cache_mode = force_generic_plan`.execute(db),
  )
  expect(await run('distribute begins')).toEqual([KILLED, 'distributing'])
  expect(await run('undo begins')).toEqual([KILLED, 'undoing'])
  const drawn = [...(diagramsOf(readFileSync(README, 'utf8'))[0]?.arrows.keys() ?? [])]
  expect([...arrows].sort()).toEqual(drawn.filter((arrow) => !arrow.startsWith('none ')).sort())
}, 600_000)

it('the way back ends, and keeps it, where a role of somebody else was granted a right', async () => {
  await withDatabase(options, async (db) => {
    await sql`GRANT SELECT ON payments.fx_rates TO pg_monitor`.execute(db)
    for (const statement of stateStatements(options.names, 'undoing')) await sql.raw(statement).execute(db)
  })
  expect(await undoDistribution(options)).toBeGreaterThan(0)
  const { rows } = await withDatabase(options, (db) =>
    sql`SELECT has_table_privilege('pg_monitor', 'payments.fx_rates', 'SELECT') AS reads`.execute(db),
  )
  expect([await withDatabase(options, (db) => readState(db, options.names)), rows]).toEqual([
    'plain',
    [{ reads: true }],
  ])
}, 600_000)

import { type MigrateOptions, migrateAtStart, migrateUp } from '@trestle/database/migrations/migrate.ts'
import { withDatabase } from '@trestle/database/migrations/migration-connection.ts'
import { compareCatalogues, findDrift, readCatalogue } from '@trestle/database/rehearsal/drift.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openWire } from './cut-wire.ts'
import { copyDatabase, createEmptyDatabase, type TemporaryDatabase } from './temporary-database.ts'

export interface CutsOptions {
  /** The number of statements to cut in a run, and of migrations at which to cut an upgrade, or `all`. */
  readonly cuts: string | undefined
  /** Returns the options of the service's migrations for a database. */
  readonly optionsOf: (url: string) => MigrateOptions
}

/** The numbers for a run of all tests: statements of a new database, migrations, statements of each upgrade. */
const CUTS = { create: '2', migrations: '1', upgrade: '2' } as const
const HOURS_MS = 3 * 3_600_000
const PATIENCE_MS = 60_000
/** The number of concurrent runs. Each run mostly waits for its server. */
const AT_ONCE = 4

/** Tests for a service's migrations that a run of `migrate` completes the work of a killed run. */
export function describeCuts({ cuts, optionsOf }: CutsOptions): void {
  describe('migrate', () => {
    let whole: UncutRun & { readonly database: TemporaryDatabase }
    beforeAll(async () => {
      const database = await createEmptyDatabase()
      whole = { ...(await runUncut(optionsOf, database)), database }
    })
    afterAll(() => whole.database.drop())

    it('makes the same when it was killed at a statement before', { timeout: HOURS_MS }, async () => {
      await expectMended(whole, { cuts: cuts ?? CUTS.create, optionsOf, start: createEmptyDatabase })
    })

    it('makes the same when an upgrade was killed, at whatever migration', { timeout: HOURS_MS }, async () => {
      const stage = await createEmptyDatabase()
      const chosen = cuts ?? CUTS.upgrade
      for (const next of choosePoints(countMigrations(optionsOf(stage.url)) - 1, cuts ?? CUTS.migrations)) {
        await migrateUp(upTo(next, optionsOf)(stage.directUrl))
        const upgrade = { cuts: chosen, optionsOf: upTo(next + 1, optionsOf), start: () => copyDatabase(stage) }
        const database = await upgrade.start()
        await expectMended(await runUncut(upgrade.optionsOf, database), upgrade)
        await database.drop()
      }
      await stage.drop()
    })

    it.each([
      ['an empty database', 0],
      ['an old one', 0.5],
    ])(
      'makes the same of %s when three start at once, and one of them is killed',
      { timeout: PATIENCE_MS },
      async (_name, share) => {
        const database = await createEmptyDatabase()
        const done = Math.floor(share * countMigrations(optionsOf(database.url)))
        if (done > 0) await migrateUp(upTo(done, optionsOf)(database.directUrl))
        // Cut halfway through the remaining statements. The killed run has then begun the work that another run must complete.
        const wire = await openWire(database.url, Math.floor(((1 - share) * whole.statements) / 2))
        const runs = [wire.url, database.url, database.url].map((url) => migrateAtStart(optionsOf(url)))
        const [, second, third] = await Promise.allSettled(runs)
        expect([second?.status, third?.status]).toEqual(['fulfilled', 'fulfilled'])
        expect(compareCatalogues(whole.made, await readMade(optionsOf(database.url)))).toEqual([])
        await wire.close()
        await database.drop()
      },
    )

    it('leaves no drift', { timeout: PATIENCE_MS }, async () => {
      const { objects, differences } = await findDrift(optionsOf(whole.database.url))
      expect(differences).toEqual([])
      expect(objects).toBeGreaterThan(50)
    })
  })
}

/** Options for the first `count` migrations only. Later steps are skipped, because functions may need every table. */
function upTo(count: number, optionsOf: CutsOptions['optionsOf']): CutsOptions['optionsOf'] {
  return (url) => {
    const { sources, functions, ...options } = optionsOf(url)
    const some = Object.entries(sources).slice(0, count)
    const whole = some.length === Object.keys(sources).length ? functions : undefined
    return { ...options, sources: Object.fromEntries(some), functions: whole, afterwards: [], grants: undefined }
  }
}

function countMigrations({ sources }: MigrateOptions): number {
  return Object.keys(sources).length
}

/** A run that is not killed: the number of its statements, and the objects that it creates. */
interface UncutRun {
  readonly statements: number
  readonly made: ReadonlyMap<string, string>
}

interface KilledRuns extends CutsOptions {
  readonly cuts: string
  /** Creates the database with which each run begins. */
  readonly start: () => Promise<TemporaryDatabase>
}

/** Kills runs at some statements. Asserts that another run then creates the same database as an uncut run. */
async function expectMended({ statements, made }: UncutRun, { cuts, optionsOf, start }: KilledRuns): Promise<void> {
  // Most statements leave the same state as another statement, often an empty schema. Complete each such state only once.
  const mended = new Set<string>()
  const killAt = async (cutAt: number): Promise<void> => {
    const database = await start()
    const options = optionsOf(database.url)
    const wire = await openWire(database.url, cutAt)
    const [killed] = await Promise.allSettled([migrateUp(optionsOf(wire.url))])
    await wire.close()
    // A run that loses only the answer to its last statement may succeed, because it needs nothing from that answer.
    if (cutAt < statements) expect({ cutAt, status: killed.status }).toEqual({ cutAt, status: 'rejected' })
    await expect.poll(() => countBusy(options), { timeout: PATIENCE_MS }).toBe(0)
    const left = JSON.stringify([...(await readMade(options))])
    if (!mended.has(left)) {
      await migrateUp(options)
      const differences = compareCatalogues(made, await readMade(options))
      expect({ cutAt, differences }).toEqual({ cutAt, differences: [] })
      mended.add(left)
    }
    await database.drop()
  }
  const points = choosePoints(statements, cuts).values()
  const killOnAndOn = async (): Promise<void> => {
    for (const cutAt of points) await killAt(cutAt)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, killOnAndOn))
}

/** Returns the number of other busy sessions of the database. A server notices the end of a client with a delay. */
function countBusy(options: MigrateOptions): Promise<number> {
  return withDatabase(options, async (db) => {
    const { rows } = await sql<{ count: number }>`
      SELECT count(*)::int AS count FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid() AND state <> 'idle'`.execute(db)
    return rows[0]?.count ?? 0
  })
}

async function runUncut(optionsOf: CutsOptions['optionsOf'], { url }: TemporaryDatabase): Promise<UncutRun> {
  const wire = await openWire(url)
  await migrateUp(optionsOf(wire.url))
  await wire.close()
  return { statements: wire.statements(), made: await readMade(optionsOf(url)) }
}

/** Returns evenly spread statement numbers, including the last statement. */
function choosePoints(statements: number, cuts: string): readonly number[] {
  const length = cuts === 'all' ? statements : Number(cuts)
  return Array.from({ length }, (_, index) => Math.ceil(((index + 1) * statements) / length))
}

/** Returns the objects of the service and of its queue, and the number of rows in its tables. */
export function readMade(options: MigrateOptions): Promise<ReadonlyMap<string, string>> {
  const { schema, jobSchema } = options.names
  return withDatabase(options, async (db) => {
    const all = new Map<string, string>()
    await db.transaction().execute(async (trx) => {
      for (const place of [options.names, { schema: jobSchema, prefix: '' }]) {
        for (const [key, text] of await readCatalogue(trx, place)) all.set(`${place.schema} ${key}`, text)
      }
    })
    const { rows } = await sql<{ name: string; rows: string }>`
      SELECT format('%s.%s', schemaname, tablename) AS name,
        (xpath('/row/c/text()', query_to_xml(format('SELECT count(*) AS c FROM %I.%I', schemaname, tablename), false, true, '')))[1]::text AS rows
      FROM pg_tables WHERE schemaname IN (${schema}, ${jobSchema})`.execute(db)
    for (const { name, rows: count } of rows) all.set(`rows of ${name}`, count)
    return all
  })
}

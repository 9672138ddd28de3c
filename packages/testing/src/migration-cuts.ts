import { type MigrateOptions, migrateAtStart, migrateUp } from '@trestle/database/migrations/migrate.ts'
import { withDatabase } from '@trestle/database/migrations/migration-connection.ts'
import { compareCatalogues, findDrift, readCatalogue } from '@trestle/database/rehearsal/drift.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openWire } from './cut-wire.ts'
import { copyDatabase, createEmptyDatabase, type TemporaryDatabase } from './temporary-database.ts'

export interface CutsOptions {
  /** How many statements of a run are cut, and at how many migrations an upgrade is cut. `all`: every one. */
  readonly cuts: string | undefined
  /** The options of the service's migrations for a database. */
  readonly optionsOf: (url: string) => MigrateOptions
}

/** How many a run of all tests takes: statements of a new database, migrations, and statements of the upgrade by each. */
const CUTS = { create: '2', migrations: '1', upgrade: '2' } as const
const HOURS_MS = 3 * 3_600_000
const PATIENCE_MS = 60_000
/** Each run waits for its server most of the time. */
const AT_ONCE = 4

/** Tests that a run of `migrate` completes what a killed run has left, for the migrations of a service. */
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
        // Halfway through what is left, so that the killed run has begun the work that another must complete.
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

/** Runs that end after so many migrations, without what comes after all of them: functions may need every table. */
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

/** A run that nobody kills: how many statements it has, and what it makes. */
interface UncutRun {
  readonly statements: number
  readonly made: ReadonlyMap<string, string>
}

interface KilledRuns extends CutsOptions {
  readonly cuts: string
  /** Makes the database that each run begins with. */
  readonly start: () => Promise<TemporaryDatabase>
}

/** Kills runs at some of their statements. Finds that a further run makes the same database as a run that nobody kills. */
async function expectMended({ statements, made }: UncutRun, { cuts, optionsOf, start }: KilledRuns): Promise<void> {
  // Most statements leave a state that another statement has left too, mostly an empty schema. Each such state is mended once.
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

/** How many others are at work in the database: a server notices the end of a client a little later. */
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

/** Evenly spread, the last statement among them. */
function choosePoints(statements: number, cuts: string): readonly number[] {
  const length = cuts === 'all' ? statements : Number(cuts)
  return Array.from({ length }, (_, index) => Math.ceil(((index + 1) * statements) / length))
}

/** The objects of the service and of its queue, and how many rows its tables have. */
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

import { setTimeout as pause } from 'node:timers/promises'
import type { MigrationSources, Names } from '@trestle/migrations/migration.ts'
import { type Kysely, PostgresAdapter, PostgresDialect, sql, type Transaction } from 'kysely'
import { type Migration, type MigrationResultSet, Migrator } from 'kysely/migration'
import pg from 'pg'
import { MIGRATIONS, migratorTable } from './migrator-tables.ts'

/** The migrations of a service, and where they run. */
export interface Migrations {
  readonly names: Names
  readonly sources: MigrationSources
}

/** A migration that has run, whether this version knows it or not. */
export interface ExecutedMigration {
  readonly name: string
  readonly executedAt: Date
}

/**
 * A migration that waits for a lock holds up everybody who comes behind it. It gives way after a while, and tries again:
 * whoever waited behind it gets through meanwhile.
 */
const LOCK_WAIT = '3s'
const LOCK_TRIES = 20
const LOCK_PAUSE_MS = 1_000
/** lock_not_available; deadlock_detected: PostgreSQL has chosen the migration to give way. */
const RETRYABLE: ReadonlySet<string | undefined> = new Set(['55P03', '40P01'])

/** What has run in this database, in the order of its run. */
export async function listExecuted(db: Kysely<unknown>, names: Names): Promise<readonly ExecutedMigration[]> {
  const table = sql.id(names.schema, migratorTable(names, MIGRATIONS))
  const text = `"${names.schema}"."${migratorTable(names, MIGRATIONS)}"`
  const { rows } = await sql<{ exists: boolean }>`SELECT to_regclass(${text}) IS NOT NULL AS "exists"`.execute(db)
  if (!rows[0]?.exists) return []
  const executed = await sql<{ name: string; timestamp: string }>`
    SELECT name, timestamp FROM ${table} ORDER BY timestamp, name`.execute(db)
  return executed.rows.map(({ name, timestamp }) => ({ name, executedAt: new Date(timestamp) }))
}

/** What has not run in this database, and what has run there that this version does not know, by name. */
export async function compareMigrations(
  db: Kysely<unknown>,
  { names, sources }: Migrations,
): Promise<{ readonly pending: readonly string[]; readonly unknown: readonly string[] }> {
  const executed = new Set((await listExecuted(db, names)).map(({ name }) => name))
  return {
    pending: Object.keys(sources).filter((name) => !executed.has(name)),
    unknown: [...executed].filter((name) => !(name in sources)),
  }
}

/**
 * Runs what is pending. A database that has nothing yet gets all or nothing; else each migration commits for itself, so
 * that none holds its locks for the time of those behind it.
 * @returns the names of what ran, in order
 */
export async function runPending(
  db: Kysely<unknown>,
  migrations: Migrations,
  pending: readonly string[],
): Promise<readonly string[]> {
  if (pending.length === Object.keys(migrations.sources).length) {
    return run(db, migrations, (migrator) => migrator.migrateToLatest())
  }
  const ran: string[] = []
  for (const _ of pending) ran.push(...(await run(db, migrations, (migrator) => migrator.migrateUp())))
  return ran
}

/** Takes back what ran last. @returns its name; none where nothing has run */
export function takeBackLast(db: Kysely<unknown>, migrations: Migrations): Promise<readonly string[]> {
  return run(db, migrations, (migrator) => migrator.migrateDown())
}

/**
 * A transaction that begins when no other one of the same service's migrations runs: that of a process which was killed may
 * be at its last statement, or at its commit.
 */
export function inTurn<T>(
  db: Kysely<unknown>,
  { schema, prefix }: Names,
  use: (trx: Transaction<unknown>) => Promise<T>,
): Promise<T> {
  return db.transaction().execute(async (trx) => {
    await sql`SELECT pg_advisory_xact_lock(hashtextextended(${`trestle/migration/${schema}/${prefix}`}, 0))`.execute(
      trx,
    )
    return use(trx)
  })
}

/** The dialect of a migrator that runs within a transaction of `inTurn`: the library's own lock would outlive it. */
export function migrationDialect(pool: pg.Pool): PostgresDialect {
  return new UnlockedDialect({ pool })
}

class UnlockedDialect extends PostgresDialect {
  override createAdapter(): PostgresAdapter {
    return new UnlockedAdapter()
  }
}

class UnlockedAdapter extends PostgresAdapter {
  override async acquireMigrationLock(): Promise<void> {}
  override async releaseMigrationLock(): Promise<void> {}
}

type Step = (migrator: Migrator) => ReturnType<Migrator['migrateToLatest']>

/** Runs a step of the migrator, again and again where it gave way to others. */
async function run(db: Kysely<unknown>, migrations: Migrations, step: Step): Promise<readonly string[]> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await inTurn(db, migrations.names, async (trx) =>
        namesOfApplied(await step(createMigrator(trx, migrations))),
      )
    } catch (error) {
      if (!(error instanceof Error && isRetryable(error.cause)) || tries === LOCK_TRIES) throw error
      await pause(LOCK_PAUSE_MS)
    }
  }
}

function namesOfApplied({ error, results = [] }: MigrationResultSet): readonly string[] {
  if (error) {
    const failed = results.find(({ status }) => status === 'Error')
    throw new Error(`migration ${failed?.migrationName ?? ''} failed: ${describe(error)}`, { cause: error })
  }
  return results.filter(({ status }) => status === 'Success').map(({ migrationName }) => migrationName)
}

function isRetryable(error: unknown): boolean {
  return error instanceof pg.DatabaseError && RETRYABLE.has(error.code)
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

function createMigrator(db: Kysely<unknown>, { names, sources }: Migrations): Migrator {
  const load = async ([name, source]: [string, MigrationSources[string]]) => [
    name,
    withLockTimeout(await source(names)),
  ]
  return new Migrator({
    db,
    provider: { getMigrations: async () => Object.fromEntries(await Promise.all(Object.entries(sources).map(load))) },
    migrationTableSchema: names.schema,
    migrationTableName: migratorTable(names, MIGRATIONS),
    migrationLockTableName: migratorTable(names, `${MIGRATIONS}_lock`),
    // A branch may merge a lower number after a higher one has run.
    allowUnorderedMigrations: true,
  })
}

function withLockTimeout({ up, down }: Migration): Migration {
  const limit = (db: Kysely<unknown>) => sql`SET LOCAL lock_timeout = ${sql.lit(LOCK_WAIT)}`.execute(db)
  return {
    up: async (db) => {
      await limit(db)
      await up(db)
    },
    ...(down && {
      down: async (db: Kysely<unknown>) => {
        await limit(db)
        await down(db)
      },
    }),
  }
}
